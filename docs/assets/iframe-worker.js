// Browsers start no worker from a file. A site that is opened from a folder runs its search in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.worker = this;
      this.frame.srcdoc = `
        <script>
          postMessage = (data) => frameElement.worker.dispatchEvent(new MessageEvent("message", { data }));
        </script>
        <script src="${url}"></script>`;
      this.ready = new Promise((resolve) => (this.frame.onload = resolve));
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

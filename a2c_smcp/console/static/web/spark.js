// A small line of the last values.

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 100;
const HEIGHT = 30;

/** A line that a page changes when there is a new value. */
export class Spark {
  /**
   * @param {string} label says what the line shows, for screen readers
   * @param {{most?: number, kind?: string}} [options] how many values it shows, and a class
   */
  constructor(label, { most = 120, kind = "" } = {}) {
    this.most = most;
    /** @type {number[]} */
    this.values = [];
    this.element = make("svg", {
      class: `spark ${kind}`.trim(),
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    });
    this.area = make("path", { class: "area" });
    this.line = make("path", { class: "line" });
    this.element.append(this.area, this.line);
  }

  /** @param {number[]} values from the oldest to the newest */
  set(values) {
    this.values = values.slice(-this.most);
    this.draw();
  }

  /** @param {number} value */
  add(value) {
    this.values.push(value);
    if (this.values.length > this.most) this.values.shift();
    this.draw();
  }

  draw() {
    const top = Math.max(...this.values, 0) || 1;
    const step = WIDTH / (this.most - 1);
    const start = WIDTH - (this.values.length - 1) * step;
    const points = this.values.map(
      (value, at) => `${(start + at * step).toFixed(2)} ${(HEIGHT - (value / top) * (HEIGHT - 1)).toFixed(2)}`,
    );
    this.line.setAttribute("d", points.length ? `M${points.join("L")}` : "");
    this.area.setAttribute(
      "d",
      points.length ? `M${start.toFixed(2)} ${HEIGHT}L${points.join("L")}L${WIDTH} ${HEIGHT}Z` : "",
    );
  }
}

/**
 * @param {string} name
 * @param {Record<string, string>} attributes
 */
function make(name, attributes) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

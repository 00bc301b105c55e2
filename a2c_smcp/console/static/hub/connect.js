// The lines to copy.

import { copy } from "../web/copying.js";
import { byId } from "../web/dom.js";

for (const button of document.querySelectorAll("[data-copies]")) {
  button.addEventListener("click", () => {
    copy(byId(button.getAttribute("data-copies") ?? "").textContent ?? "");
  });
}

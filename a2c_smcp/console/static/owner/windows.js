// The windows of this Computer, as an Agent sees them.

import { get } from "../web/api.js";
import { byId, el, fill, peer, peerText } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { number, t } from "../web/texts.js";
import { attend } from "./attend.js";

/** What each window showed before, to mark what changed.
 * @type {Map<string, string>} */
let before = new Map();

async function load() {
  try {
    const { windows } = await get("/desktop?size=200");
    const seen = new Map(windows.map((/** @type {string} */ window_) => split(window_)));
    fill(
      byId("windows"),
      ...[...seen].map(([uri, text]) =>
        el(
          "article",
          { class: before.size > 0 && before.get(uri) !== text ? "window fresh" : "window" },
          el("p", { class: "note" }, el("code", {}, peer(uri, 500))),
          text === "" ? el("p", { class: "empty" }, t("This window is empty.")) : peerText(text, 20_000),
        ),
      ),
    );
    before = seen;
    byId("count").textContent = number(seen.size);
    byId("empty").hidden = seen.size > 0;
  } catch (error) {
    complain(error);
  }
}

/**
 * @param {string} whole
 * @returns {[string, string]}
 */
function split(whole) {
  const end = whole.indexOf("\n\n");
  return end < 0 ? [whole, ""] : [whole.slice(0, end), whole.slice(end + 2)];
}

let timer = 0;
function loadSoon() {
  clearTimeout(timer);
  timer = window.setTimeout(load, 200);
}

attend(["windows"], { windows_changed: loadSoon }, load);

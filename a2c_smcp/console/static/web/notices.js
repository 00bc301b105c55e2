// Short messages, which screen readers read out, and questions before what cannot be undone.

import { byId, el, peer } from "./dom.js";
import { t } from "./texts.js";
import { APIError } from "./api.js";

const SHOWN_SECONDS = 8;
const MOST = 4;

/**
 * Show a message for some seconds.
 * @param {string | Node} text
 * @param {"good" | "bad"} [kind]
 */
export function notify(text, kind = "good") {
  const list = byId("notices");
  const close = el("button", { type: "button", "aria-label": t("Close"), onclick: () => notice.remove() }, "×");
  const notice = el("div", { class: `notice ${kind}` }, el("span", {}, text), close);
  list.append(notice);
  while (list.childElementCount > MOST) list.firstElementChild?.remove();
  // An error stays until somebody closes it.
  if (kind === "good") setTimeout(() => notice.remove(), SHOWN_SECONDS * 1000);
}

/**
 * Show why something failed.
 * @param {unknown} error
 */
export function complain(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (!(error instanceof APIError)) {
    console.error(error);
    notify(t("This failed"), "bad");
  } else if (error.code === 0) notify(t("There is no connection."), "bad");
  else if (error.code !== 401) notify(el("span", {}, peer(error.message, 500), ` (${error.code})`), "bad");
}

/**
 * Ask before something that cannot be undone.
 * @param {string} question
 * @param {string} action the text of the button
 * @param {Node} [more]
 * @returns {Promise<boolean>}
 */
export function confirm(question, action, more) {
  return new Promise((resolve) => {
    const dialog = el(
      "dialog",
      { "aria-labelledby": "question" },
      el("h2", { id: "question" }, question),
      more ?? null,
      el(
        "div",
        { class: "row" },
        el("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, action),
        el("button", { type: "button", autofocus: true, onclick: () => dialog.close("no") }, t("Cancel")),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Says why the console cannot look into an office, where the page has a place for it.

import { APIError } from "../web/api.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { t } from "../web/texts.js";

const TAKEN = 4101;

/** @param {any} error an `APIError`, or the data of the event `problem` */
export function explain(error) {
  if (error instanceof APIError ? error.code === 0 || error.code === 401 : error instanceof Error) {
    complain(error);
    return;
  }
  const problem = byId("office-problem");
  const hint = error.code === TAKEN && el("div", {}, t("The console can look into the office when this Agent has left."));
  fill(problem, peer(error.message, 500), ` (${error.code})`, hint);
  problem.hidden = false;
}

/** The office can be seen. */
export function fine() {
  byId("office-problem").hidden = true;
}

// Says why the console cannot look into an office, where the page has a place for it.

import { APIError } from "../web/api.js";
import { byId, fill, peer } from "../web/dom.js";
import { complain } from "../web/notices.js";

/** @param {any} error an `APIError`, or the data of the event `problem` */
export function explain(error) {
  if (error instanceof APIError ? error.code === 0 || error.code === 401 : error instanceof Error) {
    complain(error);
    return;
  }
  const problem = byId("office-problem");
  fill(problem, peer(error.message, 500), ` (${error.code})`);
  problem.hidden = false;
}

/** The office can be seen. */
export function fine() {
  byId("office-problem").hidden = true;
}

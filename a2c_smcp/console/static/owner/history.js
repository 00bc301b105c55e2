// The last calls of this Computer.

import { get } from "../web/api.js";
import { byId, el, fill, peer, peerText } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { duration, moment, t } from "../web/texts.js";
import { attend } from "./attend.js";

const AT_ONCE = 100;
const MOST = 1_000;

/** @type {any[]} */
let calls = [];
const body = /** @type {HTMLElement} */ (byId("calls").querySelector("tbody"));

async function load() {
  try {
    ({ calls } = await get(`/calls?most=${AT_ONCE}`));
    fill(body, ...calls.map(row));
    show(calls.length === AT_ONCE);
  } catch (error) {
    complain(error);
  }
}

async function older() {
  try {
    const found = (await get(`/calls?most=${AT_ONCE}&before=${calls.at(-1).number}`)).calls;
    calls.push(...found);
    body.append(...found.map(row));
    show(found.length === AT_ONCE);
  } catch (error) {
    complain(error);
  }
}

/** @param {boolean} hasMore */
function show(hasMore) {
  byId("calls").hidden = calls.length === 0;
  byId("empty").hidden = calls.length > 0;
  byId("more").hidden = !hasMore;
}

/** @param {any} call */
function row(call) {
  const outcome = call.is_ok ? t("succeeded") : call.cancelled !== null ? t("cancelled") : t("failed");
  return el(
    "tr",
    {},
    el("td", { "data-label": t("Time"), class: "time" }, moment(Date.parse(call.started) / 1000)),
    el(
      "td",
      { "data-label": t("Tool"), class: "named" },
      el(
        "details",
        {},
        el("summary", {}, el("code", {}, peer(call.tool)), call.server && el("span", { class: "soft" }, " · ", peer(call.server))),
        peerText(indented(call.arguments), 10_000),
        el("p", { class: "note" }, el("code", {}, peer(call.req_id))),
      ),
    ),
    el("td", { "data-label": "Agent", class: "named" }, call.agent ? peer(call.agent) : t("this program"), call.principal !== null && el("span", { class: "soft" }, " · ", peer(call.principal))),
    el("td", { "data-label": t("Duration"), class: "number" }, duration(call.seconds)),
    el(
      "td",
      { "data-label": t("Outcome") },
      el(
        "div",
        {},
        el("span", { class: `badge ${call.is_ok ? "good" : call.cancelled !== null ? "warn" : "bad"}` }, outcome, call.code !== null && ` ${call.code}`),
        call.approved_by !== null && el("span", { class: "note" }, " ", t("allowed by"), " ", peer(t(call.approved_by))),
        call.error !== null && el("div", { class: "note" }, peer(call.error, 500)),
      ),
    ),
  );
}

/**
 * JSON as people read it.
 * @param {string} text
 */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // it was cut
  }
}

/** @param {any} call */
function ended(call) {
  if (calls.some((each) => each.number === call.number)) return;
  calls.unshift(call);
  body.prepend(row(call));
  while (calls.length > MOST) {
    calls.pop();
    body.lastElementChild?.remove();
  }
  show(!byId("more").hidden);
}

byId("more").addEventListener("click", older);
attend(["calls"], { call: ended }, load);

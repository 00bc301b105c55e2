// Calls that need approval: what exactly would run, what changed since the last time, and the decision.

import { get, path, post } from "../web/api.js";
import { byId, el, fill, peer, peerText } from "../web/dom.js";
import { complain, notify } from "../web/notices.js";
import { clock, duration, t } from "../web/texts.js";
import { attend, hasSound, setSound } from "./attend.js";
import { differences } from "./differences.js";

const MOST_ENDED = 50;

/** The calls that wait, with the element of each. A card is not made again while it is shown: somebody may be typing.
 * @type {Map<string, {node: HTMLElement, until: number | null, clock: HTMLElement}>} */
const cards = new Map();
/** @type {any[]} */
let ended = [];

async function load() {
  try {
    const [before, shown] = [ended, [...cards.keys()]];
    const found = await get("/approvals");
    if (ended !== before) {
      await load(); // the answer may be older than an event that arrived meanwhile
      return;
    }
    ended = found.ended;
    const ids = new Set(found.waiting.map((/** @type {any} */ request) => request.id));
    for (const id of shown) if (!ids.has(id)) drop(id);
    await Promise.all(found.waiting.map((/** @type {any} */ request) => add(request.id)));
    showEnded();
  } catch (error) {
    complain(error);
  }
}

/** @param {string} id */
async function add(id) {
  if (cards.has(id)) return;
  try {
    const request = await get(path`/approvals/${id}`);
    const isEnded = request.outcome !== "waiting" || ended.some((each) => each.id === id);
    if (isEnded || cards.has(id)) return;
    const left = el("span", { class: "soft" });
    const node = card(request, left);
    const until = request.seconds_left === null ? null : Date.now() + request.seconds_left * 1000;
    cards.set(id, { node, until, clock: left });
    byId("waiting").append(node);
    tick();
  } catch (error) {
    complain(error);
  }
}

/** @param {string} id */
function drop(id) {
  cards.get(id)?.node.remove();
  cards.delete(id);
  byId("empty").hidden = cards.size > 0;
}

/**
 * @param {any} request
 * @param {HTMLElement} left
 */
function card(request, left) {
  const text = JSON.stringify(request.arguments, null, 2);
  const before = request.last_arguments === null ? null : JSON.stringify(request.last_arguments, null, 2);
  const reason = el("input", { type: "text", maxlength: 300, placeholder: t("Reason for the Agent (optional)"), "aria-label": t("Reason for the Agent (optional)"), autocomplete: "off" });
  /** @param {string} decision @param {string} title @param {string} [kind] */
  const button = (decision, title, kind = "") =>
    el("button", { type: "button", class: kind, onclick: () => decide(request, decision, reason.value) }, title);
  return el(
    "section",
    { class: "card approval", "aria-label": `${request.tool} · ${request.server}` },
    el("div", { class: "row spread" }, el("h2", {}, el("code", {}, peer(request.tool)), " · ", peer(request.server)), left),
    el("p", {}, t("Agent"), " ", peer(request.agent), " · ", t("office"), " ", peer(request.office), request.principal !== null && el("span", {}, " · ", t("for"), " ", peer(request.principal))),
    request.description && el("details", {}, el("summary", {}, t("What the MCP server says about the tool")), peerText(request.description, 5_000)),
    el("p", {}, ...effects(request.annotations)),
    el("h3", {}, t("Arguments")),
    peerText(text, 200_000),
    before !== null && el("details", { open: before !== text }, el("summary", {}, before === text ? t("The same as in the last call that you allowed") : t("What differs from the last call that you allowed")), before === text ? null : differences(before, text)),
    el("div", { class: "row" }, button("allow", t("Allow this call"), "primary"), button("hour", t("Allow the tool for an hour")), button("always", t("Always allow the tool")), button("deny", t("Deny"), "danger"), el("label", { class: "grow" }, reason)),
    el("p", { class: "note" }, ...always(request)),
  );
}

/** @param {any} annotations */
function effects(annotations) {
  const marks = [];
  if (annotations?.readOnlyHint === true) marks.push(el("span", { class: "badge good" }, t("read only")));
  if (annotations?.destructiveHint === true) marks.push(el("span", { class: "badge bad" }, t("may delete something")));
  if (annotations?.openWorldHint === true) marks.push(el("span", { class: "badge" }, t("reaches other systems")));
  return marks.length > 0 ? [...marks, el("span", { class: "note" }, " ", t("according to the MCP server"))] : [];
}

/** @param {any} request */
function always(request) {
  if (request.always === null) return [t("“Always” lasts until the Computer stops: the MCP server is not in a configuration file.")];
  return [t("“Always” writes into"), " ", el("code", {}, peer(request.always.file)), ": ", el("code", {}, peer(`${request.always.path.join(".")} = ${request.always.value}`))];
}

/**
 * @param {any} request
 * @param {string} decision
 * @param {string} reason
 */
async function decide(request, decision, reason) {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (cards.get(request.id)?.node.querySelectorAll("button") ?? []);
  for (const button of buttons) button.disabled = true;
  try {
    // The digest is that of what this page shows: anything else is not decided.
    const body = { decision, digest: request.digest, by: "the owner's page", ...(decision === "deny" && reason ? { reason } : {}) };
    const found = await post(path`/approvals/${request.id}`, body);
    if (found.problem) notify(el("span", {}, t("Not saved:"), " ", peer(found.problem, 500)), "bad");
    else if (found.saved) notify(el("span", {}, t("Saved to"), " ", peer(found.saved)));
  } catch (error) {
    complain(error);
  } finally {
    await load();
  }
}

function showEnded() {
  const names = /** @type {Record<string, string>} */ ({ allowed: "good", denied: "bad" });
  byId("none-ended").hidden = ended.length > 0;
  byId("empty").hidden = cards.size > 0;
  fill(
    byId("ended"),
    ...ended.slice(0, MOST_ENDED).map((request) =>
      el(
        "li",
        { class: "row" },
        el("span", { class: "soft" }, clock(Date.parse(request.ended ?? request.requested) / 1000)),
        el("span", { class: `badge ${names[request.outcome] ?? "warn"}` }, t(request.outcome)),
        el("span", { class: "grow" }, el("code", {}, peer(request.tool)), " · ", peer(request.server), " · ", peer(request.agent), request.decided_by !== null && el("span", { class: "soft" }, " · ", t("by"), " ", peer(t(request.decided_by))), request.reason !== null && el("span", { class: "note" }, " · ", peer(request.reason, 300))),
      ),
    ),
  );
}

function tick() {
  for (const { until, clock: place } of cards.values()) {
    const seconds = until === null ? null : Math.max(0, Math.round((until - Date.now()) / 1000));
    place.textContent = seconds === null ? "" : t("{time} left", { time: duration(seconds) });
  }
  byId("empty").hidden = cards.size > 0;
}

/** @param {any} request */
function changed(request) {
  if (request.outcome === "waiting") void add(request.id);
  else {
    drop(request.id);
    ended = [request, ...ended.filter((each) => each.id !== request.id)];
    showEnded();
  }
}

const sound = /** @type {HTMLInputElement} */ (byId("sound"));
sound.checked = hasSound();
sound.addEventListener("change", () => setSound(sound.checked));
setInterval(tick, 1_000);
attend([], { approval: changed }, load);

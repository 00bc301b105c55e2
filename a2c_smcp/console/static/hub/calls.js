// The calls, live. Events only change a table in memory; the page draws it a few times a second, however many there are.

import { get, path, remove } from "../web/api.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain, confirm, notify } from "../web/notices.js";
import { listen } from "../web/stream.js";
import { clock, duration, moment, number, t } from "../web/texts.js";

const MOST_KEPT = 1_000;
const MOST_SHOWN = 100;
const DRAW_MILLISECONDS = 250;

/** @type {Map<string, any>} */
let calls = new Map();
let leftOut = 0;
let isPaused = false;
let isDue = false;
/** @type {string | null} */
let open = null;

const text = /** @type {HTMLInputElement} */ (byId("text"));
const outcome = /** @type {HTMLSelectElement} */ (byId("outcome"));
const pause = byId("pause");
const details = /** @type {HTMLDialogElement} */ (byId("details"));
const body = /** @type {HTMLElement} */ (byId("calls").querySelector("tbody"));

/** @param {any} call */
function keyOf(call) {
  return call.id === null ? `${call.office}/${call.req_id}` : String(call.id);
}

async function load() {
  try {
    const found = await get("/calls?limit=500");
    calls = new Map();
    for (const call of [...found.recent.reverse(), ...found.running]) calls.set(keyOf(call), call);
    leftOut = found.left_out;
    drawSoon();
  } catch (error) {
    complain(error);
  }
}

/** @param {any} call */
function change(call) {
  calls.set(keyOf(call), call);
  // A map keeps the order in which keys came: the oldest are first. Calls that run stay.
  if (calls.size > MOST_KEPT) {
    for (const [key, each] of calls) {
      if (calls.size <= MOST_KEPT) break;
      if (each.outcome !== null) calls.delete(key);
    }
  }
  drawSoon();
}

function drawSoon() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => {
    isDue = false;
    // Rows must not move away under the pointer.
    if (!isPaused && !body.matches(":hover")) draw();
  }, DRAW_MILLISECONDS);
}

/** @param {any} call */
function matches(call) {
  const wanted = outcome.value;
  if (wanted === "running" && call.outcome !== null) return false;
  if ((wanted === "ok" || wanted === "cancelled") && call.outcome !== wanted) return false;
  if (wanted === "failed" && [null, "ok", "cancelled"].includes(call.outcome)) return false;
  const search = text.value.toLowerCase();
  return (
    search === "" ||
    [call.req_id, call.tool, call.event, call.computer, call.agent, call.office, call.principal].some((each) =>
      (each ?? "").toLowerCase().includes(search),
    )
  );
}

function draw() {
  const shown = [];
  for (const call of [...calls.values()].reverse()) {
    if (matches(call)) shown.push(call);
    if (shown.length >= MOST_SHOWN) break;
  }
  place(shown);
  byId("calls").hidden = shown.length === 0;
  byId("empty").hidden = shown.length > 0;
  byId("empty").textContent =
    calls.size === 0 ? t("Waiting for calls. They are recorded while this page is open.") : t("No call matches.");
  const note = leftOut > 0 ? t("There are too many calls to show all: {count} were left out.", { count: number(leftOut) }) : "";
  byId("sampled").hidden = note === "";
  if (byId("sampled").textContent !== note) byId("sampled").textContent = note;
  const call = open === null ? undefined : calls.get(open);
  if (details.open && call !== undefined) showDetails(call);
}

/** @type {Map<string, {call: any, element: HTMLElement}>} */
const rows = new Map();

/**
 * Show these calls. Rows that stay are neither made again nor moved: a click on one would be lost, and its focus.
 * @param {any[]} shown the newest first
 */
function place(shown) {
  const keys = new Set(shown.map(keyOf));
  for (const [key, { element }] of rows) {
    if (keys.has(key)) continue;
    element.remove();
    rows.delete(key);
  }
  /** @type {Element | null} */
  let next = body.firstElementChild;
  for (const call of shown) {
    const key = keyOf(call);
    let known = rows.get(key);
    if (known === undefined) {
      known = { call, element: row(call) };
      rows.set(key, known);
    } else if (known.call !== call || call.outcome === null) {
      known.call = call;
      const [, , , , outcome, duration] = known.element.children;
      fill(outcome, badge(call));
      fill(duration, taken(call));
    }
    if (known.element === next) next = next.nextElementSibling;
    else body.insertBefore(known.element, next);
  }
}

/** @param {any} call */
function row(call) {
  return el(
    "tr",
    {},
    el("td", { "data-label": t("Time") }, call.arrived === null ? "–" : clock(call.arrived)),
    el(
      "td",
      { "data-label": t("Call") },
      el("button", { type: "button", class: "link", onclick: () => show(keyOf(call)) }, title(call)),
      call.computer !== null && el("div", { class: "soft" }, peer(call.computer, 100)),
    ),
    el(
      "td",
      { "data-label": t("Agent") },
      call.agent === null ? "–" : peer(call.agent, 100),
      call.principal !== null && el("div", { class: "soft" }, peer(call.principal, 100)),
    ),
    el("td", { "data-label": t("Office") }, call.office === null ? "–" : peer(call.office, 100)),
    el("td", { "data-label": t("Outcome") }, badge(call)),
    el("td", { "data-label": t("Duration"), class: "number" }, taken(call)),
  );
}

/** @param {any} call */
function taken(call) {
  if (call.outcome !== null) return duration(call.ended);
  return call.arrived === null ? "…" : `${duration(Math.max(1, Math.round(Date.now() / 1000 - call.arrived)))} …`;
}

/** @param {any} call */
function title(call) {
  return peer(call.tool ?? call.event.replace("client:", ""), 100);
}

/** @param {any} call */
function badge(call) {
  if (call.outcome === null) return el("span", { class: "badge main" }, t("running"));
  if (call.outcome === "ok") return el("span", { class: "badge good" }, t("succeeded"));
  if (call.outcome === "cancelled") return el("span", { class: "badge" }, t("cancelled"));
  return el("span", { class: "badge bad" }, `${t("failed")} · ${call.outcome}`);
}

/** @param {string} key */
function show(key) {
  const call = calls.get(key) ?? rows.get(key)?.call;
  open = key;
  showDetails(call);
  details.showModal();
}

/** @param {any} call */
function showDetails(call) {
  fill(byId("details-title"), title(call));
  const facts = [
    ["req_id", el("code", {}, peer(call.req_id))],
    [t("Event"), peer(call.event)],
    [t("Outcome"), badge(call)],
    ...(call.message === null ? [] : [[t("Error"), peer(call.message, 1_000)]]),
    [t("Agent"), call.agent === null ? "–" : peer(call.agent)],
    ...(call.principal === null ? [] : [[t("User of an MCP host"), peer(call.principal)]]),
    [t("Computer"), call.computer === null ? "–" : peer(call.computer)],
    [t("Office"), call.office === null ? "–" : peer(call.office)],
    [t("Arrived"), call.arrived === null ? t("before anybody looked") : moment(call.arrived)],
    [t("Request"), bytes(call.request_bytes)],
    [t("Answer"), bytes(call.answer_bytes)],
  ];
  const stop = el("button", { type: "button", class: "danger", onclick: () => end(call) }, t("End this call…"));
  fill(
    byId("details-body"),
    el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("h3", {}, t("Timing")),
    legs(call),
    call.outcome === null && el("div", { class: "row" }, stop),
  );
}

/** @param {any} call */
function legs(call) {
  if (call.arrived === null) return el("p", { class: "note" }, t("This call began before anybody looked."));
  const { sent, answered, ended } = call;
  const steps = /** @type {[string, number | null][]} */ ([
    [t("The Server finds the Computer"), sent ?? ended],
    [t("The Computer answers"), sent === null || answered === null ? null : answered - sent],
    [t("The Server writes the answer"), answered === null || ended === null ? null : ended - answered],
    [t("Total"), ended],
  ]);
  const longest = Math.max(...steps.map(([, seconds]) => seconds ?? 0)) || 1;
  return el(
    "table",
    { class: "legs" },
    el(
      "tbody",
      {},
      ...steps.map(([name, seconds]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          el("td", { class: "number" }, seconds === null ? "…" : duration(seconds)),
          el("td", { class: "grow" }, el("meter", { min: 0, max: longest, value: seconds ?? 0, "aria-hidden": "true" })),
        ),
      ),
    ),
  );
}

/** @param {number | null} count */
function bytes(count) {
  return count === null ? "–" : t("{count} characters", { count: number(count) });
}

/** @param {any} call */
async function end(call) {
  const note = el("p", {}, t("Its Agent gets an error, and its Computer is told to cancel it."));
  if (!(await confirm(t("End this call?"), t("End the call"), note))) return;
  try {
    await remove(`${path`/calls/${call.req_id}`}?office=${encodeURIComponent(call.office ?? "")}`);
    notify(t("The call was ended."));
  } catch (error) {
    complain(error);
  }
}

byId("filter").addEventListener("submit", (event) => event.preventDefault());
text.addEventListener("input", draw);
outcome.addEventListener("change", draw);
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  pause.textContent = isPaused ? t("Continue") : t("Pause");
  if (!isPaused) draw();
});
body.addEventListener("mouseleave", drawSoon);
byId("close").addEventListener("click", () => details.close());
details.addEventListener("close", () => {
  open = null;
});

// The time of calls that run goes on.
setInterval(() => {
  if (!document.hidden && [...calls.values()].some((call) => call.outcome === null)) drawSoon();
}, 1_000);

listen(
  "/events?topics=calls",
  {
    call: change,
    left_out: (data) => {
      leftOut = data.left_out;
      drawSoon();
    },
  },
  load,
);

// Call a tool: a form made of its schema with the JSON beside it, progress, questions and the result.

import { APIError, address, get, path, post } from "../web/api.js";
import { copy } from "../web/copying.js";
import { byId, el, fill, peer, peerText, visible, words } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { clock, duration, number, t } from "../web/texts.js";
import { asCLI, asCurl, asPython } from "./copy_call.js";
import { events } from "./event_reader.js";
import { explain, fine } from "./office_problem.js";
import { showQuestions } from "./questions.js";
import { showResult } from "../web/result.js";
import { InvalidField, schemaForm } from "../web/schema_form.js";

const office = byId("page").dataset.office ?? "";
const HISTORY = `a2c-calls-${office}`;
const MOST_KEPT = 20;
const MOST_KEPT_CHARACTERS = 20_000;

const computers = /** @type {HTMLSelectElement} */ (byId("computer"));
const names = /** @type {HTMLSelectElement} */ (byId("tool"));
const jsonBox = /** @type {HTMLTextAreaElement} */ (byId("json"));
const seconds = /** @type {HTMLInputElement} */ (byId("timeout"));
const state = byId("state");

/** @type {Map<string, string[]>} */
const offered = new Map();
/** @type {any} */
let tool = null;
/** @type {ReturnType<typeof schemaForm> | null} */
let form = null;
/** @type {AbortController | null} */
let running = null;
let callId = "";

async function load() {
  try {
    const found = await get(path`/offices/${office}/tools`);
    fine();
    offered.clear();
    for (const computer of found.computers) offered.set(computer, []);
    for (const each of found.tools) offered.get(each.computer)?.push(each.name);
    fill(computers, ...[...offered.keys()].map((value) => el("option", { value }, visible(value, 120))));
    const wanted = new URLSearchParams(location.search);
    await choose(wanted.get("computer") ?? "", wanted.get("tool") ?? "");
  } catch (error) {
    explain(error);
  }
}

/**
 * Choose a tool, or the first one if there is no such tool.
 * @param {string} computer
 * @param {string} name
 * @param {Record<string, unknown>} [values]
 */
async function choose(computer, name, values) {
  computers.value = offered.has(computer) ? computer : (offered.keys().next().value ?? "");
  const its = [...(offered.get(computers.value) ?? [])].sort();
  fill(names, ...its.map((value) => el("option", { value }, visible(value, 120))));
  names.value = its.includes(name) ? name : (its[0] ?? "");
  await show(values);
}

/** @param {Record<string, unknown>} [values] */
async function show(values) {
  byId("call").hidden = true;
  fill(byId("about"));
  if (names.value === "") {
    const reason = computers.value === "" ? t("There is no Computer in this office.") : t("This Computer has no tools.");
    fill(byId("about"), el("p", { class: "empty" }, reason));
    return;
  }
  try {
    tool = await get(path`/offices/${office}/tools/${computers.value}/${names.value}`);
  } catch (error) {
    explain(error);
    return;
  }
  history.replaceState(null, "", `?${new URLSearchParams({ computer: tool.computer, tool: tool.name })}`);
  fill(
    byId("about"),
    tool.title && el("p", {}, el("strong", {}, peer(tool.title))),
    tool.description && words(tool.description),
    el(
      "p",
      { class: "note" },
      tool.mcp_server !== null && el("span", {}, t("MCP server"), ": ", peer(tool.mcp_server), " "),
      ...tool.tags.map((/** @type {string} */ tag) => el("span", { class: "badge" }, peer(tag, 60))),
      tool.annotations.readOnlyHint === true && el("span", { class: "badge good" }, t("read only")),
      tool.annotations.destructiveHint === true && el("span", { class: "badge warn" }, t("may delete something")),
    ),
    el("details", {}, el("summary", {}, t("Schema")), peerText(JSON.stringify(tool.input_schema, null, 2), 50_000)),
  );
  form = schemaForm(tool.input_schema, fieldsChanged);
  fill(byId("fields"), ...(form.nodes.length > 0 ? form.nodes : [el("p", { class: "empty" }, t("This tool has no parameters."))]));
  if (values !== undefined) form.write(values);
  fieldsChanged();
  if (values !== undefined) jsonBox.value = JSON.stringify(values, null, 2);
  byId("call").hidden = false;
}

function fieldsChanged() {
  try {
    jsonBox.value = JSON.stringify(form?.read() ?? {}, null, 2);
    problem("");
  } catch (error) {
    if (!(error instanceof InvalidField)) throw error;
    problem(error.message);
  }
}

/** @param {string} text */
function problem(text) {
  byId("json-problem").textContent = text;
  byId("json-problem").hidden = text === "";
}

/** The arguments, as the JSON says; null if it is not valid. */
function readArguments() {
  try {
    const values = JSON.parse(jsonBox.value.trim() || "{}");
    if (typeof values !== "object" || values === null || Array.isArray(values)) throw new SyntaxError();
    problem("");
    return values;
  } catch {
    problem(t("The arguments must be a JSON object."));
    return null;
  }
}

jsonBox.addEventListener("input", () => {
  const values = readArguments();
  if (values !== null) form?.write(values);
});
computers.addEventListener("change", () => choose(computers.value, ""));
names.addEventListener("change", () => show());

byId("call").addEventListener("submit", (event) => {
  event.preventDefault();
  const values = byId("json-problem").hidden ? readArguments() : null;
  if (values !== null && running === null) void run({ computer: tool.computer, tool: tool.name, arguments: values });
});
byId("stop").addEventListener("click", () => running?.abort());

/** @param {{computer: string, tool: string, arguments: Record<string, unknown>}} call */
async function run(call) {
  const began = Date.now();
  running = new AbortController();
  begin();
  let outcome = "failed";
  try {
    const body = { ...call, timeout: Number(seconds.value) || 60 };
    for await (const { kind, data } of events(address(path`/offices/${office}/calls`), body, running.signal)) {
      if (kind === "started") callId = data.id;
      if (kind === "progress") progress(data);
      if (kind === "questions") ask(data);
      if (kind === "failed") throw new APIError(data.code, data.message, data.details);
      if (kind === "result") {
        outcome = data.isError ? "failed" : "ok";
        fill(byId("result"), ...showResult(data));
      }
    }
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") outcome = "cancelled";
    else if (error instanceof APIError && error.code !== 0) {
      fill(byId("result"), el("p", { class: "problem" }, peer(error.message, 2_000), ` (${error.code})`));
    } else complain(error);
  } finally {
    running = null;
    end(outcome, (Date.now() - began) / 1000);
    keep({ ...call, outcome, at: began / 1000 });
  }
}

function begin() {
  byId("outcome").hidden = false;
  /** @type {HTMLButtonElement} */ (byId("run")).disabled = true;
  byId("stop").hidden = false;
  byId("progress").hidden = true;
  fill(byId("result"));
  fill(byId("questions"));
  state.className = "badge main";
  state.textContent = t("running");
}

/**
 * @param {string} outcome
 * @param {number} took
 */
function end(outcome, took) {
  /** @type {HTMLButtonElement} */ (byId("run")).disabled = false;
  byId("stop").hidden = true;
  byId("progress").hidden = true;
  fill(byId("questions"));
  state.className = `badge ${outcome === "ok" ? "good" : outcome === "cancelled" ? "warn" : "bad"}`;
  state.textContent = `${word(outcome)} · ${duration(took)}`;
}

/** @param {string} outcome */
function word(outcome) {
  return outcome === "ok" ? t("succeeded") : outcome === "cancelled" ? t("cancelled") : t("failed");
}

/** @param {{progress: number, total: number | null, message: string | null}} report */
function progress(report) {
  const bar = /** @type {HTMLProgressElement} */ (byId("bar"));
  byId("progress").hidden = false;
  if (report.total !== null && report.total > 0) {
    bar.max = report.total;
    bar.value = Math.min(report.progress, report.total);
  } else bar.removeAttribute("value");
  const counted = report.total === null ? number(report.progress) : `${number(report.progress)} / ${number(report.total)}`;
  fill(byId("progress-text"), counted, " ", report.message !== null && peer(report.message));
}

/** @param {Record<string, any>} questions */
function ask(questions) {
  const id = callId;
  showQuestions(byId("questions"), questions, async (replies) => {
    try {
      await post(path`/offices/${office}/calls/${id}/replies`, { replies });
      fill(byId("questions"));
    } catch (error) {
      complain(error);
    }
  });
}

// --------------------------------------------------------------------------------------------------- copies, history

const WRITERS = { curl: asCurl, python: asPython, cli: asCLI };
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => {
    const values = readArguments();
    const write = WRITERS[/** @type {keyof typeof WRITERS} */ (/** @type {HTMLElement} */ (button).dataset.copy)];
    if (values !== null) copy(write(office, tool.computer, tool.name, values));
  });
}

/** @typedef {{computer: string, tool: string, arguments: Record<string, unknown>, outcome: string, at: number}} Kept */

/** @returns {Kept[]} */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(HISTORY) ?? "[]");
  } catch {
    return [];
  }
}

/** @param {Kept} call */
function keep(call) {
  if (JSON.stringify(call).length <= MOST_KEPT_CHARACTERS) {
    sessionStorage.setItem(HISTORY, JSON.stringify([call, ...kept()].slice(0, MOST_KEPT)));
  }
  showHistory();
}

function showHistory() {
  const calls = kept();
  byId("no-history").hidden = calls.length > 0;
  byId("forget").hidden = calls.length === 0;
  fill(
    byId("history"),
    ...calls.map((call) =>
      el(
        "li",
        { class: "row" },
        el("span", { class: "soft" }, clock(call.at)),
        el("span", { class: `badge ${call.outcome === "ok" ? "good" : "warn"}` }, word(call.outcome)),
        el("span", { class: "grow" }, el("code", {}, peer(call.tool)), " · ", peer(call.computer), " ", el("span", { class: "note" }, peer(JSON.stringify(call.arguments), 120))),
        el("button", { type: "button", class: "small", onclick: () => repeat(call) }, t("Use again")),
      ),
    ),
  );
}

/** @param {Kept} call */
async function repeat(call) {
  await choose(call.computer, call.tool, call.arguments);
  byId("run").focus();
}

byId("forget").addEventListener("click", () => {
  sessionStorage.removeItem(HISTORY);
  showHistory();
});

showHistory();
void load();

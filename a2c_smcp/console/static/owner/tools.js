// The tools of this Computer, and the rule that decides about each.

import { get, path, send } from "../web/api.js";
import { byId, el, fill, peer, visible } from "../web/dom.js";
import { complain, notify } from "../web/notices.js";
import { number, t } from "../web/texts.js";
import { attend } from "./attend.js";

// Few, because each key of a search makes them anew; the observer below adds more while there is room.
const ROWS_AT_ONCE = 30;
const RULES = ["run", "ask", "forbid"];

/** What the Computer answered last: rows stay in place while nothing changes, somebody may be clicking. */
let answer = "";
/** @type {any[]} */
let tools = [];
/** @type {any[]} */
let shown = [];
let rows = 0;

const body = /** @type {HTMLElement} */ (byId("tools").querySelector("tbody"));
const search = /** @type {HTMLInputElement} */ (byId("search"));
const server = /** @type {HTMLSelectElement} */ (byId("server"));
const rule = /** @type {HTMLSelectElement} */ (byId("rule"));

async function load() {
  try {
    const found = await get("/tools");
    const text = JSON.stringify(found);
    if (text === answer) return;
    answer = text;
    tools = found.tools.map((/** @type {any} */ tool) => ({ ...tool, text: `${tool.name}\n${tool.original_name}\n${tool.description}\n${tool.server}`.toLowerCase() }));
    const before = server.value;
    const names = [...new Set(tools.map((tool) => tool.server))].sort();
    fill(server, /** @type {HTMLOptionElement} */ (server.options[0]), ...names.map((value) => el("option", { value }, visible(value, 120))));
    server.value = names.includes(before) ? before : "";
    filter();
  } catch (error) {
    complain(error);
  }
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  shown = tools.filter(
    (tool) =>
      (!server.value || tool.server === server.value) &&
      (!rule.value || tool.rule === rule.value) &&
      words.every((word) => tool.text.includes(word)),
  );
  rows = 0;
  fill(body);
  more();
  byId("tools").hidden = shown.length === 0;
  byId("empty").hidden = shown.length > 0;
  byId("empty").textContent = tools.length === 0 ? t("This Computer has no tools.") : t("No tool matches.");
  byId("count").textContent = t("{shown} of {total} tools", { shown: number(shown.length), total: number(tools.length) });
}

function more() {
  body.append(...shown.slice(rows, rows + ROWS_AT_ONCE).map(row));
  rows = Math.min(rows + ROWS_AT_ONCE, shown.length);
}

/** @param {any} tool */
function row(tool) {
  const node = el(
    "tr",
    {},
    el("td", { "data-label": t("Tool") }, el("div", {}, el("code", {}, peer(tool.name)), tool.name !== tool.original_name && el("span", { class: "soft" }, " (", peer(tool.original_name), ")"), tool.annotations?.readOnlyHint === true && el("span", { class: "badge good" }, t("read only")), tool.annotations?.destructiveHint === true && el("span", { class: "badge warn" }, t("may delete something")), el("div", { class: "note" }, peer(tool.description, 300)))),
    el("td", { "data-label": t("MCP server"), class: "named" }, peer(tool.server)),
    el(
      "td",
      { "data-label": t("Rule") },
      el(
        "div",
        {},
        el(
          "div",
          { class: "choices", role: "group", "aria-label": t("Rule") },
          ...RULES.map((each) =>
            el("button", { type: "button", class: `small ${each}`, "aria-pressed": String(tool.rule === each), onclick: () => choose(tool, each, node) }, t(each)),
          ),
        ),
        el("div", { class: "note" }, because(tool)),
      ),
    ),
  );
  return node;
}

/** @param {any} tool */
function because(tool) {
  const sources = /** @type {Record<string, string>} */ ({
    forbidden_tools: t("by forbidden_tools"),
    tool_meta: t("by tool_meta"),
    default_tool_meta: t("by default_tool_meta"),
    grant: t("by your decision"),
    default: t("no rule in the file"),
  });
  return el("span", {}, sources[tool.source] ?? tool.source, tool.detail !== null && el("span", {}, " · ", peer(tool.detail, 200)));
}

/**
 * @param {any} tool
 * @param {string} wanted
 * @param {HTMLElement} node
 */
async function choose(tool, wanted, node) {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (node.querySelectorAll(".choices button"));
  for (const button of buttons) button.disabled = true;
  try {
    const found = await send("PUT", path`/tools/${tool.server}/${tool.original_name}/rule`, { rule: wanted });
    Object.assign(tool, found.tool);
    if (found.problem) notify(el("span", {}, t("Not saved:"), " ", peer(found.problem, 500)), "bad");
    else notify(el("span", {}, peer(tool.name), ": ", t(wanted), found.saved && el("span", { class: "soft" }, " · ", peer(found.saved))));
  } catch (error) {
    complain(error);
  }
  const again = row(tool);
  node.replaceWith(again);
  const pressed = again.querySelector('[aria-pressed="true"]');
  if (pressed instanceof HTMLElement) pressed.focus();
}

let timer = 0;
function loadSoon() {
  clearTimeout(timer);
  timer = window.setTimeout(load, 300);
}

search.addEventListener("input", filter);
server.addEventListener("change", filter);
rule.addEventListener("change", filter);
const observer = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting) || rows >= shown.length) return;
  more();
  // It reports only changes, and the end may still be in sight.
  observer.unobserve(byId("end"));
  observer.observe(byId("end"));
}, { rootMargin: "400px" });
observer.observe(byId("end"));
attend(["tools", "servers"], { tools_changed: loadSoon, servers_changed: loadSoon }, load);

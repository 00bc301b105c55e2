// All tools of an office in one table. Thousands of rows: only those near the screen are made.

import { get, page, path } from "../web/api.js";
import { byId, el, fill, peer, visible } from "../web/dom.js";
import { listen } from "../web/stream.js";
import { number, t } from "../web/texts.js";
import { explain, fine } from "./office_problem.js";

const office = byId("page").dataset.office ?? "";
// Few, because each key of a search makes them anew; the observer below adds more while there is room.
const ROWS_AT_ONCE = 30;

/** @typedef {{computer: string, name: string, title: string, description: string, mcp_server: string | null,
 *   tags: string[], is_read_only: boolean, is_destructive: boolean, text: string}} Tool */

/** What the Server answered last: rows stay in place while nothing changes, somebody may be clicking. */
let answer = "";
/** @type {Tool[]} */
let tools = [];
/** @type {Tool[]} */
let shown = [];
let rows = 0;
/** @type {{key: "name" | "computer" | "mcp_server", isUp: boolean}} */
let order = { key: "name", isUp: true };

const body = /** @type {HTMLElement} */ (byId("tools").querySelector("tbody"));
const search = /** @type {HTMLInputElement} */ (byId("search"));
const chosen = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (byId(id));

async function load() {
  try {
    const found = await get(path`/offices/${office}/tools`);
    fine();
    const text = JSON.stringify(found);
    if (text === answer) return;
    answer = text;
    // What a search compares is made once, and not for every key that is typed.
    tools = found.tools.map((/** @type {Tool} */ tool) => ({
      ...tool,
      text: [tool.name, tool.title, tool.description, tool.computer, tool.mcp_server ?? "", ...tool.tags]
        .join("\n")
        .toLowerCase(),
    }));
    offer("computer", found.computers);
    offer("server", tools.map((tool) => tool.mcp_server ?? ""));
    offer("tag", tools.flatMap((tool) => tool.tags));
    sort();
  } catch (error) {
    explain(error);
  }
}

/**
 * Offer values to choose from; a choice that is still there stays.
 * @param {string} id
 * @param {string[]} values
 */
function offer(id, values) {
  const select = chosen(id);
  const before = select.value;
  const first = /** @type {HTMLOptionElement} */ (select.options[0]);
  const distinct = [...new Set(values)].filter((value) => value !== "").sort();
  fill(select, first, ...distinct.map((value) => el("option", { value }, visible(value, 120))));
  select.value = distinct.includes(before) ? before : "";
}

function sort() {
  const { key, isUp } = order;
  const collator = new Intl.Collator(undefined, { numeric: true });
  tools.sort((one, other) => {
    const first = collator.compare(one[key] ?? "", other[key] ?? "");
    return (isUp ? first : -first) || collator.compare(one.name, other.name) || collator.compare(one.computer, other.computer);
  });
  filter();
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const [computer, server, tag, kind] = ["computer", "server", "tag", "kind"].map((id) => chosen(id).value);
  shown = tools.filter(
    (tool) =>
      (!computer || tool.computer === computer) &&
      (!server || tool.mcp_server === server) &&
      (!tag || tool.tags.includes(tag)) &&
      (!kind || isOfKind(tool, kind)) &&
      words.every((word) => tool.text.includes(word)),
  );
  rows = 0;
  fill(body);
  more();
  byId("tools").hidden = shown.length === 0;
  byId("empty").hidden = shown.length > 0;
  byId("empty").textContent = tools.length === 0 ? t("This office has no tools.") : t("No tool matches.");
  byId("count").textContent = t("{shown} of {total} tools", { shown: number(shown.length), total: number(tools.length) });
}

/**
 * @param {Tool} tool
 * @param {string} kind
 */
function isOfKind(tool, kind) {
  if (kind === "read") return tool.is_read_only;
  return kind === "destroy" ? tool.is_destructive : !tool.is_read_only;
}

function more() {
  body.append(...shown.slice(rows, rows + ROWS_AT_ONCE).map(row));
  rows = Math.min(rows + ROWS_AT_ONCE, shown.length);
}

/** @param {Tool} tool */
function row(tool) {
  const query = new URLSearchParams({ computer: tool.computer, tool: tool.name });
  const href = `${page(path`/offices/${office}/try`)}?${query}`;
  return el(
    "tr",
    {},
    el(
      "td",
      { "data-label": t("Tool") },
      el(
        "div",
        {},
        el("a", { href }, el("code", {}, peer(tool.name))),
        tool.is_read_only && el("span", { class: "badge good" }, t("read only")),
        tool.is_destructive && el("span", { class: "badge warn" }, t("may delete something")),
        el("div", { class: "note" }, peer(tool.title ? `${tool.title}: ${tool.description}` : tool.description)),
      ),
    ),
    el("td", { "data-label": "Computer", class: "named" }, peer(tool.computer)),
    el("td", { "data-label": t("MCP server"), class: "named" }, tool.mcp_server === null ? "–" : peer(tool.mcp_server)),
    el("td", { "data-label": t("Tags") }, ...tool.tags.slice(0, 10).map((tag) => el("span", { class: "badge" }, peer(tag, 60)))),
  );
}

search.addEventListener("input", filter);
for (const id of ["computer", "server", "tag", "kind"]) chosen(id).addEventListener("change", filter);
for (const button of document.querySelectorAll("[data-sort]")) {
  button.addEventListener("click", () => {
    const key = /** @type {any} */ (button).dataset.sort;
    order = { key, isUp: order.key === key ? !order.isUp : true };
    for (const head of document.querySelectorAll("#tools th[aria-sort]")) head.removeAttribute("aria-sort");
    button.closest("th")?.setAttribute("aria-sort", order.isUp ? "ascending" : "descending");
    sort();
  });
}
const observer = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting) || rows >= shown.length) return;
  more();
  // It reports only changes, and the end may still be in sight.
  observer.unobserve(byId("end"));
  observer.observe(byId("end"));
}, { rootMargin: "400px" });
observer.observe(byId("end"));

let timer = 0;
/** @param {{kind: string}} change */
function changed({ kind }) {
  if (!["enter", "leave", "tools", "config", "rejoined"].includes(kind)) return;
  clearTimeout(timer);
  timer = window.setTimeout(load, 300);
}

listen(path`/offices/${office}/changes`, { change: changed, problem: explain }, load);

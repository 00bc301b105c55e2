// The documents of this Computer, and their pages as a model gets them.

import { get } from "../web/api.js";
import { byId, el, fill, peer, peerText } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { number, t } from "../web/texts.js";
import { attend } from "./attend.js";

const AT_ONCE = 20;
const keywords = /** @type {HTMLInputElement} */ (byId("keywords"));
const pageNumber = /** @type {HTMLInputElement} */ (byId("page-number"));
let offset = 0;
let asked = 0;
/** @type {{uri: string, pages: number, server: string} | null} */
let open = null;

/** @param {number} from */
async function list(from) {
  const query = new URLSearchParams({ offset: String(from), limit: String(AT_ONCE) });
  for (const word of keywords.value.split(/\s+/)) if (word !== "") query.append("keyword", word);
  const mine = ++asked;
  try {
    const { documents, total } = await get(`/documents?${query}`);
    if (mine !== asked) return; // a later search was answered first
    offset = from;
    fill(/** @type {Element} */ (byId("documents").querySelector("tbody")), ...documents.map(row));
    byId("documents").hidden = documents.length === 0;
    byId("empty").hidden = documents.length > 0;
    const isSearch = keywords.value.trim() !== "";
    byId("empty").textContent = isSearch ? t("There are no such documents.") : t("There are no documents.");
    byId("count").textContent = number(total);
    byId("pager").hidden = total <= AT_ONCE;
    byId("range").textContent = `${number(from + 1)}–${number(from + documents.length)} / ${number(total)}`;
    /** @type {HTMLButtonElement} */ (byId("back")).disabled = from === 0;
    /** @type {HTMLButtonElement} */ (byId("on")).disabled = from + documents.length >= total;
  } catch (error) {
    complain(error);
  }
}

/** @param {any} found */
function row(found) {
  return el(
    "tr",
    {},
    el("td", { "data-label": t("Title") }, el("div", {}, el("button", { type: "button", class: "link", onclick: () => show(found) }, peer(found.title)), found.summary && el("div", { class: "note" }, peer(found.summary, 300)))),
    el("td", { "data-label": t("Type") }, peer(found.file_type, 60)),
    el("td", { "data-label": t("Pages"), class: "number" }, number(found.page_count)),
    el("td", { "data-label": t("MCP server"), class: "named" }, peer(found.server)),
  );
}

/** @param {any} found */
async function show(found) {
  open = { uri: found.uri, pages: found.page_count, server: found.server };
  byId("document").hidden = false;
  fill(byId("document-title"), peer(found.title));
  byId("document-title").focus();
  await turn(1);
}

/** @param {number} wanted counted from 1 */
async function turn(wanted) {
  if (open === null) return;
  const mine = open;
  const at = Math.min(Math.max(Math.trunc(wanted) || 1, 1), Math.max(mine.pages, 1));
  pageNumber.value = String(at);
  pageNumber.max = String(mine.pages);
  byId("page-count").textContent = `/ ${number(mine.pages)}`;
  /** @type {HTMLButtonElement} */ (byId("page-back")).disabled = at <= 1;
  /** @type {HTMLButtonElement} */ (byId("page-on")).disabled = at >= mine.pages;
  try {
    const base = mine.uri.split("?")[0];
    const query = new URLSearchParams({ uri: `${base}/pages/${at - 1}?format=markdown`, server: mine.server });
    const { contents } = await get(`/resource?${query}`);
    if (open !== mine || pageNumber.value !== String(at)) return;
    fill(byId("page-text"), peerText(readable(contents), 100_000));
  } catch (error) {
    complain(error);
  }
}

/** @param {any[]} contents */
function readable(contents) {
  const text = contents.map((each) => each.text ?? "").join("\n\n");
  try {
    return JSON.parse(text).content_markdown ?? text;
  } catch {
    return text; // an MCP server of others may answer with Markdown alone
  }
}

byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  void list(0);
});
byId("back").addEventListener("click", () => list(Math.max(offset - AT_ONCE, 0)));
byId("on").addEventListener("click", () => list(offset + AT_ONCE));
byId("page-back").addEventListener("click", () => turn(Number(pageNumber.value) - 1));
byId("page-on").addEventListener("click", () => turn(Number(pageNumber.value) + 1));
pageNumber.addEventListener("change", () => turn(Number(pageNumber.value)));

let timer = 0;
function loadSoon() {
  clearTimeout(timer);
  timer = window.setTimeout(() => list(offset), 500);
}

attend(["documents"], { documents_changed: loadSoon }, () => list(offset));

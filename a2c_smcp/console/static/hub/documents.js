// The documents of a Computer: the catalogue, and a document's pages as a model gets them.

import { get, path } from "../web/api.js";
import { byId, el, fill, peer, peerText, visible } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { moment, number, t } from "../web/texts.js";
import { json } from "../web/result.js";
import { explain, fine } from "./office_problem.js";

const office = byId("page").dataset.office ?? "";
const AT_ONCE = 20;
const MOST_ELEMENTS = 300;

const computers = /** @type {HTMLSelectElement} */ (byId("computer"));
const keywords = /** @type {HTMLInputElement} */ (byId("keywords"));
const type = /** @type {HTMLInputElement} */ (byId("type"));
const pageNumber = /** @type {HTMLInputElement} */ (byId("page-number"));
let offset = 0;
let asked = 0;
/** @type {{computer: string, uri: string, pages: number} | null} */
let open = null;

async function load() {
  try {
    const found = await get(path`/offices/${office}/tools`);
    fine();
    fill(computers, ...found.computers.map((/** @type {string} */ value) => el("option", { value }, visible(value, 120))));
    await list(0);
  } catch (error) {
    explain(error);
  }
}

/** @param {number} from */
async function list(from) {
  if (computers.value === "") {
    byId("empty").hidden = false;
    byId("empty").textContent = t("There is no Computer in this office.");
    return;
  }
  const query = new URLSearchParams({ computer: computers.value, offset: String(from), limit: String(AT_ONCE) });
  for (const word of keywords.value.split(/\s+/)) if (word !== "") query.append("keywords", word);
  if (type.value.trim() !== "") query.set("file_type", type.value.trim());
  const mine = ++asked;
  try {
    const found = await get(`${path`/offices/${office}/documents`}?${query}`);
    if (mine !== asked) return; // a later search was answered first
    fine();
    offset = from;
    show(found);
  } catch (error) {
    if (mine === asked) explain(error);
  }
}

/** @param {{documents: any[], total: number}} found */
function show({ documents, total }) {
  fill(/** @type {Element} */ (byId("documents").querySelector("tbody")), ...documents.map(row));
  byId("documents").hidden = documents.length === 0;
  byId("empty").hidden = documents.length > 0;
  const isSearch = keywords.value.trim() !== "" || type.value.trim() !== "";
  byId("empty").textContent = isSearch ? t("There are no such documents.") : t("There are no documents.");
  byId("count").textContent = number(total);
  byId("pager").hidden = total <= AT_ONCE;
  byId("range").textContent = `${number(offset + 1)}–${number(offset + documents.length)} / ${number(total)}`;
  /** @type {HTMLButtonElement} */ (byId("back")).disabled = offset === 0;
  /** @type {HTMLButtonElement} */ (byId("on")).disabled = offset + documents.length >= total;
}

/** @param {any} found */
function row(found) {
  const computer = computers.value;
  const changed = Date.parse(found.last_modified ?? "");
  return el(
    "tr",
    {},
    el(
      "td",
      { "data-label": t("Title") },
      el(
        "div",
        {},
        el("button", { type: "button", class: "link", onclick: () => showDocument(computer, found) }, peer(found.title)),
        found.summary && el("div", { class: "note" }, peer(found.summary, 300)),
      ),
    ),
    el("td", { "data-label": t("Type") }, peer(found.file_type, 60)),
    el("td", { "data-label": t("Pages"), class: "number" }, number(found.page_count)),
    el("td", { "data-label": t("Changed"), class: "time" }, Number.isNaN(changed) ? "–" : moment(changed / 1000)),
    el("td", { "data-label": t("MCP server"), class: "named" }, peer(found.server)),
  );
}

/**
 * @param {string} computer
 * @param {any} found
 */
async function showDocument(computer, found) {
  open = { computer, uri: found.uri, pages: found.page_count };
  byId("document").hidden = false;
  fill(byId("document-title"), peer(found.title));
  fill(
    byId("facts"),
    ...[
      [t("Address"), found.uri],
      [t("File"), found.file_uri],
      [t("Keywords"), (found.keywords ?? []).join(", ")],
    ].flatMap(([name, value]) => (value ? [el("dt", {}, name), el("dd", {}, peer(value, 1_000))] : [])),
  );
  byId("document-title").focus();
  byId("document").scrollIntoView({ block: "start" });
  await turn(1);
}

/** @param {number} page counted from 1 */
async function turn(page) {
  if (open === null) return;
  const mine = open;
  const wanted = Math.min(Math.max(Math.trunc(page) || 1, 1), Math.max(mine.pages, 1));
  pageNumber.value = String(wanted);
  pageNumber.max = String(mine.pages);
  byId("page-count").textContent = `/ ${number(mine.pages)}`;
  /** @type {HTMLButtonElement} */ (byId("page-back")).disabled = wanted <= 1;
  /** @type {HTMLButtonElement} */ (byId("page-on")).disabled = wanted >= mine.pages;
  byId("elements").setAttribute("aria-busy", "true");
  try {
    const query = new URLSearchParams({ computer: mine.computer, uri: mine.uri, page: String(wanted - 1) });
    const found = await get(`${path`/offices/${office}/documents/page`}?${query}`);
    if (open !== mine || pageNumber.value !== String(wanted)) return;
    const elements = Array.isArray(found.page.elements) ? found.page.elements : [];
    fill(
      byId("elements"),
      ...elements.slice(0, MOST_ELEMENTS).map(element),
      elements.length > MOST_ELEMENTS &&
        el("p", { class: "note" }, t("{shown} of {total} are shown.", { shown: MOST_ELEMENTS, total: number(elements.length) })),
    );
    fill(byId("markdown"), found.markdown ? peerText(found.markdown, 100_000) : el("p", { class: "empty" }, t("This page is empty.")));
  } catch (error) {
    complain(error);
  } finally {
    byId("elements").removeAttribute("aria-busy");
  }
}

/** @param {any} found */
function element(found) {
  return el(
    "details",
    {},
    el("summary", {}, el("span", { class: "badge main" }, peer(found.category, 60)), " ", peer(found.summary || found.element_id, 120)),
    el("p", { class: "note" }, el("code", {}, peer(found.element_id))),
    json(found.content),
  );
}

byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  void list(0);
});
computers.addEventListener("change", () => list(0));
byId("back").addEventListener("click", () => list(Math.max(offset - AT_ONCE, 0)));
byId("on").addEventListener("click", () => list(offset + AT_ONCE));
byId("page-back").addEventListener("click", () => turn(Number(pageNumber.value) - 1));
byId("page-on").addEventListener("click", () => turn(Number(pageNumber.value) + 1));
pageNumber.addEventListener("change", () => turn(Number(pageNumber.value)));

void load();

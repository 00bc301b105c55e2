// The windows of an office, live.

import { get, path } from "../web/api.js";
import { byId, el, fill, peer, peerText } from "../web/dom.js";
import { listen } from "../web/stream.js";
import { number, t } from "../web/texts.js";
import { explain, fine } from "./office_problem.js";

const office = byId("page").dataset.office ?? "";
const SIZE = 200;

/** @type {Map<string, {uri: string, text: string}[]>} */
const desktops = new Map();
/** @type {Map<string, string>} */
const failed = new Map();
/** The Computers that are read now, and whether to read them again afterwards.
 * @type {Map<string, boolean>} */
const reading = new Map();

async function load() {
  try {
    const { computers } = await get(path`/offices/${office}/tools`);
    fine();
    for (const known of [...desktops.keys(), ...failed.keys()]) if (!computers.includes(known)) drop(known);
    await Promise.all(computers.map(read));
    byId("live").hidden = false;
    show();
  } catch (error) {
    explain(error);
  }
}

/** @param {string} computer */
async function read(computer) {
  if (reading.has(computer)) {
    reading.set(computer, true);
    return;
  }
  reading.set(computer, false);
  try {
    const query = new URLSearchParams({ computer, size: String(SIZE) });
    const { windows } = await get(`${path`/offices/${office}/desktop`}?${query}`);
    desktops.set(computer, windows);
    failed.delete(computer);
  } catch (/** @type {any} */ error) {
    desktops.delete(computer);
    failed.set(computer, String(error.message));
  }
  const again = reading.get(computer);
  reading.delete(computer);
  show(computer);
  if (again) await read(computer);
}

/** @param {string} computer */
function drop(computer) {
  desktops.delete(computer);
  failed.delete(computer);
  show();
}

/** What each window showed before, to mark what changed.
 * @type {Map<string, string>} */
let before = new Map();

/** @param {string} [changed] the Computer that was read */
function show(changed) {
  const seen = new Map();
  const sections = [...desktops.keys(), ...failed.keys()].sort().map((computer) => {
    const windows = desktops.get(computer) ?? [];
    const problem = failed.get(computer);
    if (windows.length === 0 && problem === undefined) return null;
    return el(
      "section",
      { "aria-label": computer },
      el("h3", {}, peer(computer), " ", el("span", { class: "badge" }, number(windows.length))),
      problem !== undefined && el("p", { class: "problem" }, peer(problem, 500)),
      ...windows.map((each) => {
        const key = `${computer}\n${each.uri}`;
        seen.set(key, each.text);
        const isFresh = computer === changed && before.size > 0 && before.get(key) !== each.text;
        return el(
          "article",
          { class: isFresh ? "window fresh" : "window" },
          el("p", { class: "note" }, el("code", {}, peer(each.uri, 500))),
          each.text === "" ? el("p", { class: "empty" }, t("This window is empty.")) : peerText(each.text, 20_000),
        );
      }),
    );
  });
  before = seen;
  const scroll = window.scrollY;
  fill(byId("windows"), ...sections);
  window.scrollTo({ top: scroll });
  byId("count").textContent = number(seen.size);
  byId("empty").hidden = sections.some((section) => section !== null);
}

/** @param {{kind: string, computer: string | null}} change */
function changed({ kind, computer }) {
  if (kind === "leave" && computer !== null) drop(computer);
  else if (kind === "rejoined") void load();
  else if (computer !== null && ["desktop", "enter", "config"].includes(kind)) void read(computer);
}

listen(path`/offices/${office}/changes`, { change: changed, problem: explain }, load);

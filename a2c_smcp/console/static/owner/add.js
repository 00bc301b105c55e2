// Add MCP servers: with a form, from JSON, or from another host.

import { APIError, get, post } from "../web/api.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { t } from "../web/texts.js";
import { attend } from "./attend.js";
import { loadInputs } from "./inputs.js";

const value = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id)).value;

async function load() {
  try {
    const { hosts } = await get("/hosts");
    byId("no-hosts").hidden = hosts.length > 0;
    fill(byId("hosts"), ...hosts.map(host));
    await loadInputs();
  } catch (error) {
    complain(error);
  }
}

/** @param {any} found */
function host(found) {
  const names = found.servers.join(", ");
  return el(
    "li",
    { class: "row" },
    el("span", { class: "grow" }, el("strong", {}, peer(found.host)), " ", el("code", { class: "note" }, peer(found.file)), el("div", { class: "note" }, found.problem !== null ? peer(found.problem, 300) : names ? peer(names, 500) : t("This Computer has all of its servers."))),
    found.servers.length > 0 && el("button", { type: "button", onclick: () => add({ host: found.host }) }, t("Import")),
  );
}

/** @param {Record<string, unknown>} body */
async function add(body) {
  const [added, problem] = [byId("added"), byId("problem")];
  added.hidden = true;
  problem.hidden = true;
  try {
    const found = await post("/servers", body);
    fill(
      added,
      t("Added:"), " ", peer(found.added.join(", "), 1_000), ". ",
      found.saved !== null ? el("span", { class: "note" }, t("Saved to"), " ", peer(found.saved)) : el("span", { class: "note" }, t("Not saved:"), " ", peer(found.problem)),
      found.kept.length > 0 && el("p", { class: "note" }, t("Already there:"), " ", peer(found.kept.join(", "), 1_000)),
      found.inputs.length > 0 && el("p", { class: "note" }, t("Secrets became inputs:"), " ", peer(found.inputs.join(", "), 1_000), ". ", found.remembered ? t("The keyring keeps their values.") : t("The Computer keeps their values until it stops.")),
      found.missing.length > 0 && el("p", { class: "warn" }, t("Enter these values below:"), " ", peer(found.missing.join(", "), 1_000)),
      ...found.warnings.slice(0, 20).map((/** @type {string} */ warning) => el("p", { class: "note" }, peer(warning, 500))),
    );
    added.hidden = false;
    await load();
  } catch (error) {
    if (!(error instanceof APIError) || error.code === 0 || error.code === 401) {
      complain(error);
      return;
    }
    const all = error.details?.problems ?? [error.message];
    fill(problem, ...all.map((/** @type {string} */ each) => el("div", {}, peer(each, 500))));
    problem.hidden = false;
    problem.scrollIntoView({ block: "nearest" });
  }
}

/**
 * The words of a command; quotes keep a word together.
 * @param {string} line
 */
function words(line) {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3] ?? "");
}

/**
 * The lines of a field as names and values; null if there are none.
 * @param {string} id
 * @param {string} separator
 */
function pairs(id, separator) {
  const lines = value(id).split("\n").filter((line) => line.trim() !== "");
  const found = lines.map((line) => {
    const at = line.indexOf(separator);
    return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return found.length > 0 ? Object.fromEntries(found) : null;
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const isURL = /** @type {HTMLInputElement} */ (document.querySelector('[name="kind"][value="url"]')).checked;
  const [command, ...args] = words(value("command"));
  const [env, headers] = [pairs("env", "="), pairs("headers", ":")];
  const server = isURL ? { url: value("url"), ...(headers && { headers }) } : { command: command ?? "", args, ...(env && { env }) };
  void add({ name: value("name"), text: JSON.stringify(server) });
});
byId("paste").addEventListener("submit", (event) => {
  event.preventDefault();
  void add({ text: value("json"), ...(value("name") ? { name: value("name") } : {}) });
});
for (const choice of document.querySelectorAll('[name="kind"]')) {
  choice.addEventListener("change", () => {
    const isURL = /** @type {HTMLInputElement} */ (document.querySelector('[name="kind"][value="url"]')).checked;
    byId("stdio").hidden = isURL;
    byId("url-part").hidden = !isURL;
  });
}

attend([], {}, load);

// The MCP servers of this Computer: state, restart, enable, disable, and what they wrote.

import { get, path, post } from "../web/api.js";
import { byId, el, fill, peer, peerText } from "../web/dom.js";
import { complain, notify } from "../web/notices.js";
import { ago, number, t } from "../web/texts.js";
import { attend } from "./attend.js";

/** @type {Map<string, any>} */
const servers = new Map();
/** @type {Set<string>} */
const busy = new Set();
/** The row of each server, with what it shows. A row that stays the same stays in place: somebody may be clicking.
 * @type {Map<string, {node: HTMLElement, state: string}>} */
const rows = new Map();
let shown = "";

/** Changes that were reported. */
let changes = 0;

async function load() {
  try {
    const before = changes;
    const found = await get("/servers");
    if (changes !== before) {
      await load(); // the answer may be older than a change that was reported meanwhile
      return;
    }
    servers.clear();
    for (const each of found.servers) servers.set(each.name, each);
    show();
    if (shown !== "") await details(shown);
  } catch (error) {
    complain(error);
  }
}

function show() {
  const body = /** @type {Element} */ (byId("servers").querySelector("tbody"));
  for (const [name, { node }] of rows) {
    if (servers.has(name)) continue;
    node.remove();
    rows.delete(name);
  }
  for (const server of servers.values()) {
    const state = JSON.stringify([server, busy.has(server.name)]);
    const known = rows.get(server.name);
    if (known?.state === state) continue;
    const node = row(server);
    if (known !== undefined) known.node.replaceWith(node);
    else body.append(node);
    rows.set(server.name, { node, state });
  }
  byId("servers").hidden = servers.size === 0;
  byId("empty").hidden = servers.size > 0;
}

const KINDS = /** @type {Record<string, string>} */ ({ ready: "good", failed: "bad", disabled: "" });

/** @param {any} server */
function row(server) {
  const isDisabled = server.state === "disabled";
  /** @param {string} what @param {string} title @param {string} [kind] */
  const button = (what, title, kind = "") =>
    el(
      "button",
      {
        type: "button",
        class: `small ${kind}`,
        disabled: busy.has(server.name),
        "aria-label": `${title}: ${server.name}`,
        onclick: () => act(server.name, what),
      },
      title,
    );
  return el(
    "tr",
    {},
    el(
      "td",
      { "data-label": t("Name") },
      el(
        "div",
        {},
        el("button", { type: "button", class: "link", onclick: () => open(server.name) }, peer(server.name)),
        el("div", { class: "note" }, peer(server.type), server.server_info && el("span", {}, " · ", peer(server.server_info, 120))),
      ),
    ),
    el(
      "td",
      { "data-label": t("State") },
      el(
        "div",
        {},
        el("span", { class: `badge ${KINDS[server.state] ?? "warn"}` }, t(server.state)),
        " ",
        el("span", { class: "soft" }, ago(Date.parse(server.since) / 1000)),
        server.restarts > 0 && el("span", { class: "soft" }, " · ", t("{count} restarts", { count: number(server.restarts) })),
        server.reason && el("div", { class: "note" }, peer(server.reason, 500)),
        ...server.notes.slice(0, 5).map((/** @type {string} */ note) => el("div", { class: "note" }, peer(note, 300))),
      ),
    ),
    el("td", { "data-label": t("Tools"), class: "number" }, number(server.tools)),
    el("td", { "data-label": t("Windows"), class: "number" }, number(server.windows)),
    el("td", { "data-label": t("Documents"), class: "number" }, number(server.documents)),
    el(
      "td",
      { class: "actions" },
      !isDisabled && button("restart", t("Restart")),
      " ",
      isDisabled ? button("enable", t("Enable")) : button("disable", t("Disable"), "danger"),
    ),
  );
}

/**
 * @param {string} name
 * @param {string} what
 */
async function act(name, what) {
  busy.add(name);
  show();
  try {
    const found = await post(path`/servers/${name}/${what}`);
    if (found?.problem) notify(el("span", {}, t("Not saved:"), " ", peer(found.problem, 500)), "bad");
  } catch (error) {
    complain(error);
  } finally {
    busy.delete(name);
    await load();
  }
}

/** @param {string} name */
async function open(name) {
  await details(name);
  byId("details-title").focus();
}

/** @param {string} name */
async function details(name) {
  try {
    const found = await get(path`/servers/${name}`);
    shown = name;
    fill(byId("details-title"), peer(name));
    fill(
      byId("facts"),
      el(
        "dl",
        { class: "facts" },
        ...[
          [t("Version of MCP"), found.protocol_version],
          [t("Process"), found.pid],
          [t("Configuration file"), found.file],
        ].flatMap(([title, value]) => (value ? [el("dt", {}, title), el("dd", {}, peer(value, 1_000))] : [])),
      ),
    );
    fill(byId("stderr"), found.stderr.length > 0 ? peerText(found.stderr.join("\n"), 50_000) : el("p", { class: "empty" }, t("It wrote nothing.")));
    const lines = found.log.map((/** @type {any} */ each) => `${each.at}  ${each.level}  ${each.logger ?? ""}  ${each.text}`);
    fill(byId("log"), lines.length > 0 ? peerText(lines.join("\n"), 50_000) : el("p", { class: "empty" }, t("There are none.")));
    byId("details").hidden = false;
  } catch (error) {
    shown = "";
    byId("details").hidden = true;
    complain(error);
  }
}

byId("close").addEventListener("click", () => {
  shown = "";
  byId("details").hidden = true;
});

/** @param {any} server */
function changed(server) {
  changes++;
  servers.set(server.name, server);
  show();
}

attend(["servers"], { server: changed, servers_changed: load }, load);

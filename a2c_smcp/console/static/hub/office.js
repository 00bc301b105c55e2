// An office: its members, and what its Computers offer.

import { APIError, get, path, remove } from "../web/api.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain, confirm, notify } from "../web/notices.js";
import { listen } from "../web/stream.js";
import { ago, moment, number, t } from "../web/texts.js";

const office = byId("page").dataset.office ?? "";
const MOST_TOOLS = 100;

async function load() {
  try {
    const query = `office=${encodeURIComponent(office)}&limit=1000`;
    showMembers(await get(`/members?${query}`));
  } catch (error) {
    complain(error);
  }
}

/** @param {{members: any[], total: number}} found */
function showMembers({ members, total }) {
  fill(
    /** @type {Element} */ (byId("members").querySelector("tbody")),
    ...members.map((member) =>
      el(
        "tr",
        {},
        el("td", { "data-label": t("Name") }, peer(member.name)),
        el(
          "td",
          { "data-label": t("Role") },
          member.is_local ? t("Agent of the MCP hosts") : member.role === "agent" ? "Agent" : "Computer",
        ),
        el("td", { "data-label": t("Version") }, version(member)),
        el(
          "td",
          { "data-label": t("Address") },
          member.connected_since === null
            ? t("another node")
            : member.is_local
              ? t("this Server")
              : peer(member.address ?? t("this machine")),
        ),
        el("td", { "data-label": t("Key") }, member.principal === null || member.is_local ? "–" : peer(member.principal)),
        el("td", { "data-label": t("Connected") }, when(member.connected_since)),
        el(
          "td",
          { class: "actions" },
          member.connected_since !== null &&
            el(
              "button",
              {
                type: "button",
                class: "small danger",
                "aria-label": t("Disconnect {name}", { name: member.name }),
                onclick: () => disconnect(member),
              },
              t("Disconnect"),
            ),
        ),
      ),
    ),
  );
  byId("members").hidden = total === 0;
  byId("empty").hidden = total > 0;
  byId("count").textContent = number(total);
}

/** @param {any} member */
function version(member) {
  if (member.version === null) return t("unknown");
  return peer(member.is_ours ? `a2c-stack ${member.version}` : `A2C-SMCP ${member.version}`);
}

/** @param {number | null} seconds */
function when(seconds) {
  return seconds === null ? "–" : el("time", { title: moment(seconds) }, ago(seconds));
}

/** @param {any} member */
async function disconnect(member) {
  const note = el("p", {}, peer(member.name), " ", t("may connect again, unless you remove its key."));
  if (!(await confirm(t("Disconnect this member?"), t("Disconnect"), note))) return;
  try {
    await remove(path`/offices/${office}/members/${member.name}`);
    notify(el("span", {}, peer(member.name), " ", t("is disconnected.")));
  } catch (error) {
    complain(error);
  }
}

const look = /** @type {HTMLButtonElement | null} */ (document.getElementById("look"));
look?.addEventListener("click", async () => {
  const problem = byId("offers-problem");
  look.disabled = true;
  problem.hidden = true;
  byId("offers").setAttribute("aria-busy", "true");
  try {
    showOffers(await get(path`/offices/${office}/offers`));
    look.textContent = t("Look again");
  } catch (error) {
    if (!(error instanceof APIError) || error.code === 0) complain(error);
    else {
      problem.hidden = false;
      fill(problem, peer(error.message, 500));
    }
  } finally {
    look.disabled = false;
    byId("offers").removeAttribute("aria-busy");
  }
});

/** @param {{computers: any[]}} found */
function showOffers({ computers }) {
  if (computers.length === 0) {
    fill(byId("offers"), el("p", { class: "empty" }, t("There is no Computer in this office.")));
    return;
  }
  fill(
    byId("offers"),
    ...computers.map((computer) =>
      el(
        "details",
        { open: computers.length === 1 },
        el(
          "summary",
          {},
          peer(computer.computer),
          " ",
          el("span", { class: "badge" }, t("{count} tools", { count: number(computer.tools.length) })),
          " ",
          el("span", { class: "badge" }, t("{count} windows", { count: computer.windows ?? "?" })),
          " ",
          el("span", { class: "badge" }, t("{count} documents", { count: computer.documents ?? "?" })),
        ),
        el("ul", { class: "plain" }, ...computer.tools.slice(0, MOST_TOOLS).map(tool)),
        computer.tools.length > MOST_TOOLS &&
          el(
            "p",
            { class: "note" },
            t("{shown} of {total} are shown.", { shown: MOST_TOOLS, total: number(computer.tools.length) }),
          ),
      ),
    ),
  );
}

/** @param {any} found */
function tool(found) {
  return el(
    "li",
    {},
    el("code", {}, peer(found.name)),
    found.mcp_server !== null && el("span", { class: "soft" }, " · ", peer(found.mcp_server)),
    " ",
    found.is_read_only && el("span", { class: "badge" }, t("read only")),
    el("div", { class: "note" }, peer(found.description, 300)),
  );
}

let timer = 0;
/** @param {any} [member] */
function loadSoon(member) {
  if (member?.office !== undefined && member.office !== office) return;
  clearTimeout(timer);
  timer = window.setTimeout(load, 200);
}

listen(
  "/events?topics=members",
  { member_joined: loadSoon, member_left: loadSoon, members_changed: loadSoon },
  load,
);
setInterval(() => document.hidden || load(), 60_000);

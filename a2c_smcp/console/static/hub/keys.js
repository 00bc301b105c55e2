// The keys: list, create, remove.

import { APIError, get, path, post, remove } from "../web/api.js";
import { copy } from "../web/copying.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain, confirm, notify } from "../web/notices.js";
import { ago, moment, number, t } from "../web/texts.js";

const DAY_SECONDS = 86_400;

async function load() {
  try {
    showKeys(await get("/keys"));
  } catch (error) {
    complain(error);
  }
}

/** @param {any[]} keys */
function showKeys(keys) {
  fill(
    /** @type {Element} */ (byId("keys").querySelector("tbody")),
    ...keys.map((key) =>
      el(
        "tr",
        {},
        el(
          "td",
          { "data-label": t("Name") },
          key.id === null ? "–" : peer(key.id),
          key.is_replaced && el("span", { class: "badge" }, t("replaced")),
        ),
        el("td", { "data-label": t("Allows") }, ...allowed(key)),
        el("td", { "data-label": t("Created") }, when(key.created)),
        el("td", { "data-label": t("Last used") }, when(key.last_used, true)),
        el("td", { "data-label": t("Expires") }, expiry(key.expires)),
        el(
          "td",
          { class: "actions" },
          key.id !== null &&
            el(
              "button",
              {
                type: "button",
                class: "small danger",
                "aria-label": t("Remove {name}", { name: key.id }),
                onclick: () => drop(key.id),
              },
              t("Remove"),
            ),
        ),
      ),
    ),
  );
  byId("keys").hidden = keys.length === 0;
  byId("empty").hidden = keys.length > 0;
  byId("count").textContent = number(keys.length);
}

/** @param {any} key */
function allowed(key) {
  const parts = [];
  if (key.admin) parts.push(el("span", { class: "badge warn" }, t("administration")), " ");
  if (key.offices.length > 0) {
    const roles = key.roles.map((/** @type {string} */ role) => (role === "agent" ? "Agent" : "Computer")).join(", ");
    parts.push(roles, " · ");
    for (const office of key.offices) parts.push(el("code", {}, peer(office)), " ");
    if (key.name !== null) parts.push("· ", t("only as"), " ", peer(key.name));
  }
  return parts;
}

/**
 * @param {string | null} time
 * @param {boolean} [isRelative]
 */
function when(time, isRelative = false) {
  if (time === null) return "–";
  const seconds = Date.parse(time) / 1000;
  return el("time", { datetime: time, title: moment(seconds) }, isRelative ? ago(seconds) : moment(seconds));
}

/** @param {string | null} time */
function expiry(time) {
  if (time === null) return t("never");
  return Date.parse(time) <= Date.now() ? el("span", { class: "badge bad" }, t("expired")) : when(time);
}

/** @param {string} id */
async function drop(id) {
  const note = el("p", {}, t("Connections with this key are closed within seconds:"), " ", peer(id));
  if (!(await confirm(t("Remove this key?"), t("Remove"), note))) return;
  try {
    await remove(path`/keys/${id}`);
    notify(el("span", {}, peer(id), " ", t("was removed.")));
    await load();
  } catch (error) {
    complain(error);
  }
}

const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id));

function setUp() {
  const form = /** @type {HTMLDialogElement} */ (byId("form"));
  const made = /** @type {HTMLDialogElement} */ (byId("made"));
  const create = /** @type {HTMLFormElement} */ (byId("create"));
  const problem = byId("problem");

  byId("new").addEventListener("click", () => {
    create.reset();
    problem.hidden = true;
    form.showModal();
  });
  byId("cancel").addEventListener("click", () => form.close());
  create.addEventListener("submit", async (event) => {
    event.preventDefault();
    const days = Number(input("expires").value);
    const roles = ["agent", "computer"].filter((role) => input(`role-${role}`).checked);
    const offices = input("offices").value.split(/\s+/).filter((office) => office !== "");
    try {
      if (offices.length > 0 && roles.length === 0) throw new APIError(400, t("Choose a role."));
      const { key } = await post("/keys", {
        id: input("id").value,
        offices,
        roles,
        admin: input("admin").checked,
        name: input("only").value || null,
        expires: days ? new Date(Date.now() + days * DAY_SECONDS * 1000).toISOString() : null,
      });
      form.close();
      byId("made-key").textContent = key;
      made.showModal();
      await load();
    } catch (error) {
      if (!(error instanceof APIError) || error.code === 0) complain(error);
      else {
        problem.hidden = false;
        fill(problem, peer(error.message, 500));
      }
    }
  });
  byId("copy").addEventListener("click", () => copy(byId("made-key").textContent ?? ""));
  byId("done").addEventListener("click", () => made.close());
  // The key must not stay in the page.
  made.addEventListener("close", () => {
    byId("made-key").textContent = "";
  });
  void load();
}

if (document.getElementById("create") !== null) setUp();

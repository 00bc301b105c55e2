// The inputs of the configuration: who needs them, and a field for the value of each. A value that was sent is nowhere on
// the page any more.

import { get, path, send } from "../web/api.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain, notify } from "../web/notices.js";
import { t } from "../web/texts.js";

/** Show all inputs, those without a value first. */
export async function loadInputs() {
  const { inputs } = await get("/inputs");
  inputs.sort((/** @type {any} */ one, /** @type {any} */ other) => Number(one.source !== null) - Number(other.source !== null));
  byId("inputs-part").hidden = inputs.length === 0;
  fill(byId("inputs"), ...inputs.map(item));
}

/**
 * @param {any} input
 * @param {number} number
 */
function item(input, number) {
  const id = `input-${number}`;
  const isFixed = input.source === "environment" || input.source === "command";
  const field = input.options.length > 0 ? choice(id, input) : text(id, input);
  return el(
    "li",
    {},
    el("form", { class: "row", onsubmit: (/** @type {Event} */ event) => save(event, input, field) },
      el("span", { class: "grow" },
        el("label", { for: id }, peer(input.description || input.id, 300)),
        el("span", { class: "note" }, el("code", {}, peer(input.id, 100)), " ", state(input), input.servers.length > 0 && " · ", input.servers.length > 0 && peer(input.servers.join(", "), 500)),
      ),
      !isFixed && field,
      !isFixed && el("button", { type: "submit" }, t("Save")),
    ),
  );
}

/**
 * @param {string} id
 * @param {any} input
 */
function text(id, input) {
  return el("input", { id, type: input.is_secret ? "password" : "text", autocomplete: "off", spellcheck: "false", required: true });
}

/**
 * @param {string} id
 * @param {any} input
 */
function choice(id, input) {
  return el("select", { id, required: true }, ...input.options.map((/** @type {any} */ each) => el("option", { value: each.value }, peer(each.label, 200))));
}

/** @param {any} input */
function state(input) {
  switch (input.source) {
    case "environment":
      return t("The environment has its value.");
    case "command":
      return t("A command prints its value.");
    case "default":
      return t("It has its default.");
    case "person":
      return t("It has a value.");
    default:
      return t("It has no value yet.");
  }
}

/**
 * @param {Event} event
 * @param {any} input
 * @param {HTMLElement} field
 */
async function save(event, input, field) {
  event.preventDefault();
  const control = /** @type {HTMLInputElement | HTMLSelectElement} */ (field);
  const value = control.value;
  if (control instanceof HTMLInputElement) control.value = "";
  try {
    const found = await send("PUT", path`/inputs/${input.id}`, { value });
    notify(found.remembered ? t("The keyring keeps the value.") : t("The Computer keeps the value until it stops. To keep it for longer, set {variable}.", { variable: input.variable }));
    await loadInputs();
  } catch (error) {
    complain(error);
  }
}

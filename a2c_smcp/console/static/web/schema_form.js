// A form for a JSON schema. What it cannot show as a field, a person writes as JSON.

import { el, peer } from "./dom.js";
import { t } from "./texts.js";

let forms = 0;
const MOST_OPTIONS = 200;

/** A value that is not JSON, or not of its type. */
export class InvalidField extends Error {}

/** @typedef {{name: string, node: HTMLElement, read: () => unknown, write: (value: unknown) => void}} Field */

/**
 * Make the fields of an object's schema.
 * @param {Record<string, any>} schema
 * @param {() => void} onChange
 * @returns {{nodes: HTMLElement[], read: () => Record<string, unknown>, write: (values: Record<string, unknown>) => void}}
 */
export function schemaForm(schema, onChange) {
  const prefix = `field-${++forms}`;
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const required = Array.isArray(schema?.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([name, each], index) =>
    makeField(`${prefix}-${index}`, name, resolve(each, schema), required.includes(name), onChange),
  );
  return {
    nodes: fields.map((field) => field.node),
    read() {
      /** @type {Record<string, unknown>} */
      const values = {};
      for (const field of fields) {
        const value = field.read();
        if (value !== undefined) values[field.name] = value;
      }
      return values;
    },
    write(values) {
      for (const field of fields) field.write(values[field.name]);
    },
  };
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The schema that a reference leads to, and the one beside `null`.
 * @param {any} schema
 * @param {Record<string, any>} root
 * @returns {Record<string, any>}
 */
function resolve(schema, root) {
  let found = isObject(schema) ? schema : {};
  for (let step = 0; step < 8 && typeof found.$ref === "string"; step++) {
    const parts = found.$ref.replace(/^#\//, "").split("/");
    const target = parts.reduce(
      (/** @type {any} */ at, part) => (isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined),
      root,
    );
    if (!isObject(target)) break;
    found = { ...target, ...found, $ref: target.$ref };
  }
  const choices = [found.anyOf, found.oneOf].find(Array.isArray)?.filter((/** @type {any} */ each) => each?.type !== "null");
  if (choices?.length === 1 && found.type === undefined) return { ...found, ...resolve(choices[0], root) };
  if (Array.isArray(found.type)) {
    const types = found.type.filter((type) => type !== "null");
    if (types.length === 1) return { ...found, type: types[0] };
  }
  return found;
}

/**
 * @param {string} id
 * @param {string} name
 * @param {Record<string, any>} schema
 * @param {boolean} isRequired
 * @param {() => void} onChange
 * @returns {Field}
 */
function makeField(id, name, schema, isRequired, onChange) {
  const note = typeof schema.description === "string" ? schema.description : "";
  const control = makeControl(id, schema, isRequired, note !== "");
  control.input.addEventListener("input", onChange);
  const title = typeof schema.title === "string" && schema.title !== name ? schema.title : "";
  const label = el(
    control.isGroup ? "legend" : "label",
    control.isGroup ? {} : { for: id },
    el("code", {}, peer(name)),
    title && el("span", {}, " ", peer(title, 120)),
    isRequired && el("span", { class: "badge" }, t("required")),
    control.isJSON && el("span", { class: "badge" }, "JSON"),
  );
  const hint = note && el("p", { class: "note", id: `${id}-note` }, peer(note, 1000));
  const node = el(control.isGroup ? "fieldset" : "div", { class: "field" }, label, control.input, hint);
  const { read, write } = control;
  if (schema.default !== undefined) write(schema.default);
  return {
    name,
    node,
    read() {
      try {
        return read();
      } catch {
        throw new InvalidField(t("{name} is not valid.", { name }));
      }
    },
    write,
  };
}

/**
 * @param {string} id
 * @param {Record<string, any>} schema
 * @param {boolean} isRequired
 * @param {boolean} hasNote
 * @returns {{input: HTMLElement, read: () => unknown, write: (value: any) => void, isJSON?: boolean, isGroup?: boolean}}
 */
function makeControl(id, schema, isRequired, hasNote) {
  const common = { id, "aria-describedby": hasNote && `${id}-note`, required: isRequired, autocomplete: "off" };
  const options = optionsOf(schema);
  if (options.length > 0) return choice(common, options, isRequired);
  if (schema.type === "array" && optionsOf(schema.items ?? {}).length > 0) return choices(id, optionsOf(schema.items));
  if (schema.type === "boolean") {
    return choice(common, [{ value: true, title: t("yes") }, { value: false, title: t("no") }], isRequired);
  }
  if (schema.type === "string") return text(common, schema, isRequired);
  if (schema.type === "number" || schema.type === "integer") return numeric(common, schema);
  const input = el("textarea", { ...common, rows: 3, spellcheck: "false" });
  return {
    input,
    isJSON: true,
    read: () => (input.value.trim() === "" ? undefined : JSON.parse(input.value)),
    write: (value) => {
      input.value = value === undefined ? "" : JSON.stringify(value, null, 2);
    },
  };
}

/**
 * @param {any} schema
 * @returns {{value: unknown, title: string}[]}
 */
function optionsOf(schema) {
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray);
  if (titled !== undefined && titled.length > 0 && titled.every((/** @type {any} */ each) => isObject(each) && "const" in each)) {
    return titled.slice(0, MOST_OPTIONS).map((/** @type {any} */ each) => ({ value: each.const, title: String(each.title ?? each.const) }));
  }
  if (!Array.isArray(schema.enum)) return [];
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return schema.enum.slice(0, MOST_OPTIONS).map((/** @type {unknown} */ value, /** @type {number} */ index) => ({ value, title: String(names[index] ?? value) }));
}

/**
 * @param {Record<string, any>} common
 * @param {{value: unknown, title: string}[]} options
 * @param {boolean} isRequired
 */
function choice(common, options, isRequired) {
  const input = el(
    "select",
    common,
    el("option", { value: "" }, isRequired ? t("choose") : t("not set")),
    ...options.map((option, index) => el("option", { value: index }, peer(option.title, 120).textContent ?? "")),
  );
  return {
    input,
    read: () => (input.value === "" ? undefined : options[Number(input.value)]?.value),
    write: (/** @type {unknown} */ value) => {
      const index = options.findIndex((option) => option.value === value);
      input.value = index < 0 ? "" : String(index);
    },
  };
}

/**
 * @param {string} id
 * @param {{value: unknown, title: string}[]} options
 */
function choices(id, options) {
  const boxes = options.map((_, index) => el("input", { type: "checkbox", id: `${id}-${index}` }));
  const input = el(
    "div",
    {},
    ...options.map((option, index) => el("label", { class: "choice" }, boxes[index], peer(option.title, 120))),
  );
  return {
    input,
    isGroup: true,
    read: () => {
      const found = options.filter((_, index) => boxes[index]?.checked).map((option) => option.value);
      return found.length > 0 ? found : undefined;
    },
    write: (/** @type {any} */ value) => {
      options.forEach((option, index) => {
        const box = boxes[index];
        if (box !== undefined) box.checked = Array.isArray(value) && value.includes(option.value);
      });
    },
  };
}

/**
 * @param {Record<string, any>} common
 * @param {Record<string, any>} schema
 * @param {boolean} isRequired
 */
function text(common, schema, isRequired) {
  const isLong = schema.maxLength === undefined || schema.maxLength > 200;
  const kinds = { date: "date", email: "email", uri: "url" };
  const type = kinds[/** @type {keyof typeof kinds} */ (schema.format)];
  const input = type || !isLong
    ? el("input", { ...common, type: type ?? "text", spellcheck: "false" })
    : el("textarea", { ...common, rows: 1, class: "line", spellcheck: "false" });
  return {
    input,
    // A text that is required may be empty; one that is not is left out.
    read: () => (input.value === "" && !isRequired ? undefined : input.value),
    write: (/** @type {unknown} */ value) => {
      input.value = value === undefined || value === null ? "" : String(value);
    },
  };
}

/**
 * @param {Record<string, any>} common
 * @param {Record<string, any>} schema
 */
function numeric(common, schema) {
  const step = schema.type === "integer" ? 1 : "any";
  const input = el("input", { ...common, type: "number", step, min: schema.minimum, max: schema.maximum });
  return {
    input,
    read: () => {
      if (input.value === "" && !input.validity.badInput) return undefined;
      const value = input.valueAsNumber;
      if (Number.isNaN(value) || (step === 1 && !Number.isInteger(value))) throw new InvalidField();
      return value;
    },
    write: (/** @type {unknown} */ value) => {
      input.value = typeof value === "number" ? String(value) : "";
    },
  };
}

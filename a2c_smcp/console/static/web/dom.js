// Elements, made of parts that are text. Nothing here reads markup, so text of a peer stays text.

/** @typedef {Node | string | number | null | undefined | false} Child */

const HARMFUL =
  // The same characters as in `a2c_smcp/utils/text.py`: they reorder or hide what is around them.
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes] `onclick`
 *   and such take functions; true sets an attribute without a value, false and null leave it out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(key, value === true ? "" : String(value));
  }
  return fill(made, ...children);
}

/**
 * Replace what is in an element.
 * @template {Element} E
 * @param {E} element
 * @param {...Child} children
 * @returns {E}
 */
export function fill(element, ...children) {
  element.replaceChildren(
    .../** @type {(Node | string)[]} */ (
      children
        .filter((child) => child !== null && child !== undefined && child !== false)
        .map((child) => (child instanceof Node ? child : String(child)))
    ),
  );
  return element;
}

/**
 * Text of a peer with harmful characters shown as escapes, cut after a number of characters.
 * @param {unknown} text
 * @param {number} [limit]
 * @returns {string}
 */
export function visible(text, limit = 10_000) {
  let whole = String(text ?? "");
  let cut = "";
  if (whole.length > limit) {
    cut = `… (${whole.length.toLocaleString("en")})`;
    whole = whole.slice(0, limit);
  }
  return whole.replace(HARMFUL, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`) + cut;
}

/**
 * A name or a line of a peer, isolated from the direction of the text around it.
 * @param {unknown} text
 * @param {number} [limit]
 * @returns {HTMLElement}
 */
export function peer(text, limit = 300) {
  return el("bdi", {}, visible(text, limit).replace(/\n/g, "\\n"));
}

/**
 * Several lines of a peer.
 * @param {unknown} text
 * @param {number} [limit]
 * @returns {HTMLElement}
 */
export function peerText(text, limit = 10_000) {
  return scrollable(el("pre", { class: "peer", dir: "auto" }, visible(text, limit)));
}

/**
 * What a peer wrote for people, such as the description of a tool.
 * @param {unknown} text
 * @param {number} [limit]
 * @returns {HTMLElement}
 */
export function words(text, limit = 5_000) {
  return scrollable(el("pre", { class: "words", dir: "auto" }, visible(text, limit)));
}

// The observer forgets elements that are gone.
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollHeight > target.clientHeight) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
});

/**
 * Let the keyboard reach an element while it has more than it shows, so that somebody can scroll in it.
 * @template {Element} E
 * @param {E} element
 * @returns {E}
 */
export function scrollable(element) {
  scrolling.observe(element);
  return element;
}

/**
 * The element with an id, which the template has.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 * @returns {E}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return /** @type {E} */ (found);
}

// The lines in which two texts differ.

import { el, scrollable, visible } from "../web/dom.js";
import { t } from "../web/texts.js";

const MOST_LINES = 400;

/**
 * @param {string} before
 * @param {string} after
 * @returns {HTMLElement}
 */
export function differences(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  if (old.length > MOST_LINES || now.length > MOST_LINES) return el("p", { class: "note" }, t("Too long to compare."));
  return scrollable(
    el(
      "pre",
      { class: "peer", dir: "auto" },
      ...compare(old, now).map(([mark, line]) =>
        el(mark === "+" ? "ins" : mark === "-" ? "del" : "span", {}, `${mark} ${visible(line, 2_000)}\n`),
      ),
    ),
  );
}

/**
 * The longest common subsequence: lines of both, only the old (-) and only the new (+).
 * @param {string[]} old
 * @param {string[]} now
 * @returns {[string, string][]}
 */
function compare(old, now) {
  /** @type {number[][]} */
  const longest = Array.from({ length: old.length + 1 }, () => new Array(now.length + 1).fill(0));
  const at = (/** @type {number} */ i, /** @type {number} */ j) => longest[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    const row = /** @type {number[]} */ (longest[i]);
    for (let j = now.length - 1; j >= 0; j--) {
      row[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  /** @type {[string, string][]} */
  const found = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push([" ", old[i++] ?? ""]);
      j++;
    } else if (i < old.length && (j >= now.length || at(i + 1, j) >= at(i, j + 1))) found.push(["-", old[i++] ?? ""]);
    else found.push(["+", now[j++] ?? ""]);
  }
  return found;
}

// The language of the page. The module with the texts of a language adds them before any other module runs.

/** @type {Map<string, string>} */
const texts = new Map();

/** The language of the page, for dates and numbers. */
export const language = document.documentElement.lang || "en";

/**
 * Add the texts of the page's language.
 * @param {Record<string, string>} found by the English texts
 */
export function add(found) {
  for (const [english, text] of Object.entries(found)) texts.set(english, text);
}

/**
 * A text in the language of the page. A value takes the place of its name in braces.
 * @param {string} english
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function t(english, values = {}) {
  const text = texts.get(english) ?? english;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

const numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const times = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const days = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });

/**
 * A number for people.
 * @param {number} value
 */
export function number(value) {
  return numbers.format(value);
}

/**
 * A duration for people.
 * @param {number | null | undefined} seconds
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return `${numbers.format(seconds * 1_000_000)} µs`;
  if (seconds < 1) return `${numbers.format(seconds * 1_000)} ms`;
  if (seconds < 120) return `${numbers.format(seconds)} s`;
  if (seconds < 7200) return `${numbers.format(Math.round(seconds / 60))} min`;
  return `${numbers.format(Math.round(seconds / 360) / 10)} h`;
}

/**
 * A time of day.
 * @param {number} seconds since 1970
 */
export function clock(seconds) {
  return times.format(seconds * 1000);
}

/**
 * A moment with its day.
 * @param {number} seconds since 1970
 */
export function moment(seconds) {
  return days.format(seconds * 1000);
}

/**
 * How long ago something was.
 * @param {number} seconds since 1970
 */
export function ago(seconds) {
  const past = seconds - Date.now() / 1000;
  for (const [unit, size] of /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ])) {
    if (Math.abs(past) >= size) return relative.format(Math.round(past / size), unit);
  }
  return relative.format(Math.round(Math.min(past, 0)), "second");
}

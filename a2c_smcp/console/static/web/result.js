// The result of a tool, as a person reads it. All of it is data of the tool, and none of it becomes markup.

import { el, peer, peerText } from "./dom.js";
import { t } from "./texts.js";

const LONGEST = 50_000;

/**
 * @param {Record<string, any>} result
 * @returns {HTMLElement[]}
 */
export function showResult(result) {
  const parts = (Array.isArray(result.content) ? result.content : []).map(item);
  if (result.structuredContent !== undefined) {
    parts.push(el("div", {}, el("h3", {}, t("Structured content")), json(result.structuredContent)));
  }
  if (parts.length === 0) parts.push(el("p", { class: "empty" }, t("The result is empty.")));
  return [...parts, el("details", {}, el("summary", {}, "JSON"), json(result))];
}

/** @param {unknown} value */
export function json(value) {
  return peerText(JSON.stringify(value, null, 2), LONGEST);
}

/** @param {any} part */
function item(part) {
  switch (part?.type) {
    case "text":
      return peerText(part.text, LONGEST);
    case "image":
      return el("img", { class: "result", src: data(part.mimeType, part.data, "image/"), alt: t("Image of the tool") });
    case "audio":
      return el("audio", { controls: true, src: data(part.mimeType, part.data, "audio/") });
    case "resource":
      return resource(part.resource ?? {});
    case "resource_link":
      return el("p", {}, peer(part.title ?? part.name ?? ""), " ", el("code", {}, peer(part.uri)));
    default:
      return json(part);
  }
}

/** @param {any} found */
function resource(found) {
  const head = el("p", { class: "note" }, el("code", {}, peer(found.uri)), " ", peer(found.mimeType ?? ""));
  if (typeof found.text === "string") return el("div", {}, head, peerText(found.text, LONGEST));
  if (typeof found.blob === "string" && String(found.mimeType).startsWith("image/")) {
    return el("div", {}, head, el("img", { class: "result", src: data(found.mimeType, found.blob, "image/"), alt: t("Image of the tool") }));
  }
  return el("div", {}, head, json(found));
}

/**
 * The address of a binary. Only a type of the wanted kind counts, whatever the tool says.
 * @param {unknown} type
 * @param {unknown} base64
 * @param {string} kind
 */
function data(type, base64, kind) {
  const known = typeof type === "string" && type.startsWith(kind) && /^[\w./+-]+$/.test(type) ? type : `${kind}*`;
  return `data:${known};base64,${String(base64).replace(/[^A-Za-z0-9+/=]/g, "")}`;
}

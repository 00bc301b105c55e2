// The events in the answer to a POST request. An EventSource can only send GET, and would repeat a call.

import { APIError } from "../web/api.js";

const token = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="csrf"]'));

/**
 * Send a request, and read the events of its answer as they arrive.
 * @param {string} url
 * @param {unknown} body
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<{kind: string, data: any}>}
 */
export async function* events(url, body, signal) {
  let response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": token?.content ?? "" },
      body: JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new APIError(0, "no connection");
  }
  if (!response.ok || response.body === null) {
    const found = (await response.json().catch(() => null))?.error ?? {};
    throw new APIError(found.code ?? response.status, found.message ?? response.statusText, found.details);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let isComplete = false;
  while (true) {
    const { done, value } = await reader.read();
    if (done) break;
    // A result may have megabytes in many pieces: only the end of what is there has to be searched.
    const from = Math.max(text.length - 1, 0);
    text += value;
    let end = text.indexOf("\n\n", from);
    while (end >= 0) {
      const event = parse(text.slice(0, end));
      text = text.slice(end + 2);
      if (event !== null) {
        isComplete ||= event.kind === "result" || event.kind === "failed";
        yield event;
      }
      end = text.indexOf("\n\n");
    }
  }
  if (!isComplete) throw new APIError(0, "the connection ended before the result");
}

/** @param {string} text */
function parse(text) {
  let kind = "";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    if (line.startsWith("data: ")) data = line.slice(6);
  }
  return kind === "" ? null : { kind, data: JSON.parse(data) };
}

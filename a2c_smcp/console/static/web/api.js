// Requests to the API under the page.

const root = document.documentElement.dataset.root ?? "";
const token = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="csrf"]'));

/** A request that failed: with the code and the message of the API, or 0 without a connection. */
export class APIError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   * @param {Record<string, any>} [details]
   */
  constructor(code, message, details = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/**
 * The address of a request.
 * @param {TemplateStringsArray} strings
 * @param {...(string | number)} parts are encoded
 */
export function path(strings, ...parts) {
  return strings.reduce((whole, string, at) => whole + encodeURIComponent(String(parts[at - 1])) + string);
}

/**
 * The address of a path of the API.
 * @param {string} below such as `/offices`
 */
export function address(below) {
  return `${root}/api/v1${below}`;
}

/**
 * The address of a page.
 * @param {string} below such as `/calls`
 */
export function page(below) {
  return `${root}/console${below}`;
}

/**
 * Send a request. Its answer is JSON, or nothing.
 * @param {string} method
 * @param {string} below
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function send(method, below, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (method !== "GET" && token !== null) headers["X-CSRF-Token"] = token.content;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(address(below), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new APIError(0, "no connection");
  }
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const found = answer?.error ?? {};
  const error = new APIError(found.code ?? response.status, found.message ?? response.statusText, found.details);
  if (error.code === 401) document.dispatchEvent(new CustomEvent("a2c:logged-out"));
  throw error;
}

/**
 * @param {string} below
 * @param {AbortSignal} [signal]
 */
export const get = (below, signal) => send("GET", below, undefined, signal);

/**
 * @param {string} below
 * @param {unknown} [body]
 */
export const post = (below, body) => send("POST", below, body);

/** @param {string} below */
export const remove = (below) => send("DELETE", below);

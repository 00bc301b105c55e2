// Live events. The connection is opened again by itself; a page loads everything anew when events were lost.

import { address, get } from "./api.js";
import { byId } from "./dom.js";
import { t } from "./texts.js";

const LONGEST_WAIT_SECONDS = 10;

/**
 * Listen to events while the page is visible.
 *
 * Browsers allow few connections to one host: a tab that nobody sees must not keep one. With `lock`, one of all hidden
 * tabs that use this lock does: it announces what somebody has to look at.
 * @param {string} below the address of the stream
 * @param {Record<string, (data: any) => void>} handlers by the kind of event
 * @param {() => unknown} load loads what the events continue; called at the start, and when events were lost
 * @param {string} [lock]
 * @returns {() => void} stops listening
 */
export function listen(below, handlers, load, lock) {
  /** @type {EventSource | null} */
  let source = null;
  let lastId = "";
  let wait = 0.5;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isStopped = false;
  /** @type {(() => void) | null} */
  let release = null;

  function open() {
    if (source !== null || isStopped || (document.hidden && release === null)) return;
    const separator = below.includes("?") ? "&" : "?";
    const mine = new EventSource(address(below) + (lastId ? `${separator}last_event_id=${lastId}` : ""));
    source = mine;
    mine.addEventListener("opened", (event) => {
      connected(event);
      void load();
    });
    mine.addEventListener("resumed", connected);
    mine.addEventListener("ended", (event) => {
      const { reason } = JSON.parse(/** @type {MessageEvent} */ (event).data);
      if (reason === "logged_out") loggedOut();
      else again(reason === "slow" ? "" : lastId);
    });
    for (const [kind, handler] of Object.entries(handlers)) {
      mine.addEventListener(kind, (event) => {
        const message = /** @type {MessageEvent} */ (event);
        lastId = message.lastEventId || lastId;
        handler(JSON.parse(message.data));
      });
    }
    mine.onerror = () => {
      if (source === mine) again(lastId);
    };
  }

  /** @param {Event} event */
  function connected(event) {
    lastId = /** @type {MessageEvent} */ (event).lastEventId || lastId;
    wait = 0.5;
    show("");
  }

  /** @param {string} id */
  function again(id) {
    close();
    lastId = id;
    show(t("No connection. Trying again…"));
    clearTimeout(timer);
    timer = setTimeout(check, wait * 1000 * (0.7 + 0.6 * Math.random()));
    wait = Math.min(wait * 2, LONGEST_WAIT_SECONDS);
  }

  // An EventSource does not tell why it failed.
  async function check() {
    if (isStopped) return;
    try {
      const { user } = await get("/session");
      if (user === null) loggedOut();
      else open();
    } catch {
      again(lastId);
    }
  }

  function close() {
    source?.close();
    source = null;
  }

  function loggedOut() {
    stop();
    document.dispatchEvent(new CustomEvent("a2c:logged-out"));
  }

  function seen() {
    if (!document.hidden) {
      release?.();
      release = null;
      open();
    } else if (lock === undefined) close();
    else
      void navigator.locks.request(lock, { ifAvailable: true }, (found) => {
        if (!document.hidden || isStopped) return undefined;
        if (found === null) return close();
        return new Promise((resolve) => (release = () => resolve(undefined)));
      });
  }

  function stop() {
    isStopped = true;
    release?.();
    clearTimeout(timer);
    close();
    document.removeEventListener("visibilitychange", seen);
  }

  document.addEventListener("visibilitychange", seen);
  open();
  return stop;
}

/** @param {string} text */
function show(text) {
  const banner = byId("connection");
  if (banner.textContent === text) return;
  banner.textContent = text;
  banner.className = "banner warn";
  banner.hidden = text === "";
}

// On every page of the owner: how many calls wait, in the title and the menu, and a sound for a new one.

import { get, page } from "../web/api.js";
import { el } from "../web/dom.js";
import { complain } from "../web/notices.js";
import { listen } from "../web/stream.js";

const SOUND = "a2c-approval-sound";
const title = document.title;
/** @type {Set<string>} */
const waiting = new Set();

/** Whether the owner wants a sound. */
export function hasSound() {
  return localStorage.getItem(SOUND) !== "off";
}

/** @param {boolean} isOn */
export function setSound(isOn) {
  localStorage.setItem(SOUND, isOn ? "on" : "off");
}

function show() {
  document.title = waiting.size > 0 ? `(${waiting.size}) ${title}` : title;
  const link = document.querySelector(`.menu a[href="${page("/approvals")}"]`);
  link?.querySelector(".badge")?.remove();
  if (waiting.size > 0) link?.append(" ", el("span", { class: "badge warn" }, waiting.size));
}

// A browser plays nothing before somebody has used the page: then there is only the title.
function beep() {
  if (!navigator.userActivation?.hasBeenActive) return;
  const context = new AudioContext();
  const tone = new OscillatorNode(context, { frequency: 740 });
  const volume = new GainNode(context, { gain: 0.15 });
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.5);
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.5);
  tone.onended = () => void context.close();
}

/** @param {any} request */
function changed(request) {
  if (request.outcome !== "waiting") waiting.delete(request.id);
  else if (!waiting.has(request.id)) {
    waiting.add(request.id);
    if (hasSound()) beep();
  }
  show();
}

async function load() {
  try {
    const found = await get("/approvals");
    waiting.clear();
    for (const request of found.waiting) waiting.add(request.id);
    show();
  } catch (error) {
    complain(error);
  }
}

/**
 * Listen to topics of the Computer, and to calls that wait. While a page listens, calls wait for its reader.
 * @param {string[]} topics
 * @param {Record<string, (data: any) => void>} handlers
 * @param {() => unknown} loadPage
 */
export function attend(topics, handlers, loadPage) {
  const query = new URLSearchParams([...new Set(["approvals", ...topics])].map((topic) => ["topic", topic]));
  query.set("attend", "true");
  const own = handlers.approval;
  const all = {
    ...handlers,
    approval: (/** @type {any} */ request) => {
      changed(request);
      own?.(request);
    },
  };
  listen(`/events?${query}`, all, () => Promise.all([load(), loadPage()]), "a2c-approvals");
}

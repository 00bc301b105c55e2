// Questions of an MCP server during a call. They always say which server asks, and never look like the console's own.

import { el, fill, peer, peerText } from "../web/dom.js";
import { number, t } from "../web/texts.js";
import { InvalidField, schemaForm } from "../web/schema_form.js";

/**
 * Show questions that were asked together; their answers are sent together.
 * @param {HTMLElement} place
 * @param {Record<string, any>} questions
 * @param {(replies: Record<string, any>) => void} send
 */
export function showQuestions(place, questions, send) {
  const asked = Object.entries(questions).map(([key, question]) => ({ key, question, ...body(question) }));
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const accept = el("button", { type: "submit", class: "primary" }, t("Answer"));
  const form = el(
    "form",
    { class: "question", novalidate: true },
    ...asked.map(({ question, nodes }) =>
      el(
        "div",
        {},
        el("h3", {}, t("A question of the MCP server"), " ", peer(question.mcp_server), " · ", peer(question.computer)),
        question.problem !== null && el("p", { class: "problem" }, peer(question.problem, 500)),
        peerText(question.message, 5_000),
        ...nodes,
        el("p", { class: "note" }, t("It waits {seconds} seconds.", { seconds: number(Math.round(question.expires_in)) })),
      ),
    ),
    problem,
    el(
      "div",
      { class: "row" },
      accept,
      el("button", { type: "button", onclick: () => all("decline") }, t("Decline")),
      el("button", { type: "button", onclick: () => all("cancel") }, t("Close without an answer")),
    ),
  );
  /** @param {string} action */
  function all(action) {
    send(Object.fromEntries(asked.map(({ key }) => [key, { action }])));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      send(Object.fromEntries(asked.map(({ key, read }) => [key, { action: "accept", ...read() }])));
    } catch (error) {
      if (!(error instanceof InvalidField)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
    }
  });
  fill(place, form);
  const first = form.querySelector("input, select, textarea, button");
  if (first instanceof HTMLElement) first.focus();
}

/**
 * @param {any} question
 * @returns {{nodes: HTMLElement[], read: () => {content?: Record<string, unknown>}}}
 */
function body(question) {
  if (question.url !== null) {
    // Shown in full, and opened only by a click: the address may imitate another.
    const isWeb = /^https?:\/\//.test(question.url);
    const text = el("code", {}, peer(question.url, 2_000));
    const link = isWeb ? el("a", { href: question.url, target: "_blank", rel: "noopener noreferrer" }, text) : text;
    return { nodes: [el("p", {}, link)], read: () => ({}) };
  }
  const form = schemaForm(question.schema ?? {}, () => {});
  return { nodes: form.nodes, read: () => ({ content: form.read() }) };
}

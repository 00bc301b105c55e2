// The overview: what happens every second, and the offices.

import { get, page, path, post } from "../web/api.js";
import { byId, el, fill, peer } from "../web/dom.js";
import { complain, confirm, notify } from "../web/notices.js";
import { Spark } from "../web/spark.js";
import { listen } from "../web/stream.js";
import { duration, number, t } from "../web/texts.js";

const MOST = 200;

const calls = new Spark(t("Calls per second in the last two minutes"));
const failures = new Spark(t("Failures per second in the last two minutes"), { kind: "bad" });
const latency = new Spark(t("Mean duration of calls in the last two minutes"));
const running = new Spark(t("Running calls in the last two minutes"));
byId("calls-line").append(calls.element);
byId("failures-line").append(failures.element);
byId("latency-line").append(latency.element);
byId("running-line").append(running.element);

/** @param {any} rates */
function showRates(rates) {
  byId("calls").textContent = number(rates.calls_per_second);
  byId("failures").textContent = number(rates.failures_per_second);
  const p95 = rates.p95_seconds === null ? "" : ` · p95 ≤ ${duration(rates.p95_seconds)}`;
  fill(byId("latency"), duration(rates.mean_seconds), el("small", { class: "soft" }, p95));
  byId("running").textContent = number(rates.running_calls);
  addRates(rates);
}

/** @param {any} rates */
function addRates(rates) {
  calls.add(rates.calls_per_second);
  failures.add(rates.failures_per_second);
  latency.add(rates.mean_seconds ?? 0);
  running.add(rates.running_calls);
}

const search = /** @type {HTMLInputElement} */ (byId("search"));
let loading = new AbortController();

async function loadOffices() {
  loading.abort();
  loading = new AbortController();
  try {
    const query = `search=${encodeURIComponent(search.value)}&limit=${MOST}`;
    showOffices(await get(`/offices?${query}`, loading.signal));
  } catch (error) {
    complain(error);
  }
}

/** @param {{offices: any[], total: number}} found */
function showOffices({ offices, total }) {
  fill(
    /** @type {Element} */ (byId("offices").querySelector("tbody")),
    ...offices.map((office) =>
      el(
        "tr",
        {},
        el(
          "td",
          { "data-label": t("Office") },
          el("a", { href: page(path`/offices/${office.office}`) }, peer(office.office)),
        ),
        el("td", { "data-label": t("Agent") }, office.agent === null ? "–" : peer(office.agent)),
        el("td", { "data-label": t("Computers"), class: "number" }, number(office.computers)),
      ),
    ),
  );
  byId("offices").hidden = total === 0;
  byId("empty").hidden = total > 0 || search.value !== "";
  byId("no-match").hidden = total > 0 || search.value === "";
  byId("offices-count").textContent = number(total);
  byId("more").hidden = total <= offices.length;
  byId("more").textContent = t("{shown} of {total} are shown. Search for others.", {
    shown: number(offices.length),
    total: number(total),
  });
}

async function loadServer() {
  try {
    const status = await get("/status");
    const facts = [
      [t("Version"), status.version],
      [t("Running for"), duration(status.uptime_seconds)],
      ...(status.node === null ? [] : [[t("Node"), status.node]]),
      [t("Connections"), number(status.connections)],
      [t("Agents"), number(status.agents)],
      [t("Computers"), number(status.computers)],
      [t("Calls since the start"), number(status.calls)],
      [t("Failed calls"), number(status.failed_calls)],
      [t("MCP hosts"), status.has_gateway ? t("can use offices") : t("cannot use offices (--no-mcp)")],
    ];
    fill(byId("server"), ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  } catch (error) {
    complain(error);
  }
}

async function loadRates() {
  try {
    for (const spark of [calls, failures, latency, running]) spark.set([]);
    for (const rates of await get("/rates")) addRates(rates);
  } catch (error) {
    complain(error);
  }
}

// Members come in bursts: one request for all of them.
let timer = 0;
function loadSoon() {
  clearTimeout(timer);
  timer = window.setTimeout(() => Promise.all([loadOffices(), loadServer()]), 200);
}

search.addEventListener("input", loadSoon);

document.getElementById("drain")?.addEventListener("click", async () => {
  const note = el("p", {}, t("Running calls end first. Then all members are disconnected, and the process exits."));
  if (!(await confirm(t("Stop this Server?"), t("Stop"), note))) return;
  try {
    await post("/drain");
    notify(t("The Server is stopping."));
  } catch (error) {
    complain(error);
  }
});

listen(
  "/events?topics=rates&topics=members",
  { rates: showRates, member_joined: loadSoon, member_left: loadSoon, members_changed: loadSoon },
  () => Promise.all([loadRates(), loadOffices(), loadServer()]),
);

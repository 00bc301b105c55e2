// The login: with the token of a link, or with a key. The token is in the fragment of the address, which browsers keep
// to themselves: no log and no other site sees it, and no preview of the link can use it up.

import { APIError, get, post } from "./api.js";
import { byId, el, fill, peer } from "./dom.js";
import { t } from "./texts.js";

const form = /** @type {HTMLFormElement} */ (byId("login"));
const key = /** @type {HTMLInputElement} */ (byId("key"));
const problem = byId("problem");
const wanted = form.dataset.wanted ?? "/";

/** @param {unknown} error */
function show(error) {
  problem.hidden = false;
  if (!(error instanceof APIError)) throw error;
  if (error.code === 0) fill(problem, t("There is no connection."));
  else fill(problem, el("span", {}, peer(error.message, 500)));
}

/** @param {{key: string} | {token: string}} login */
async function logIn(login) {
  await post("/session", login);
  location.replace(wanted);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
  button.disabled = true;
  problem.hidden = true;
  try {
    await logIn({ key: key.value });
  } catch (error) {
    show(error);
    key.focus();
    key.select();
  } finally {
    button.disabled = false;
  }
});

async function start() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  // Somebody who comes from another site has a session whose cookie the browser did not send, as it should. A link with
  // a token is left unused then: another login would end the session in other tabs.
  if ((await get("/session").catch(() => null))?.user) {
    location.replace(wanted);
    return;
  }
  if (token !== null) {
    try {
      await logIn({ token });
      return;
    } catch (error) {
      show(error);
    }
  }
  form.hidden = false;
  key.focus();
}

void start();

// What every page has: the language, the theme, the logout.

import { page, remove } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { complain } from "./notices.js";
import { t } from "./texts.js";

const YEAR_SECONDS = 365 * 86400;

/**
 * Keep a choice. It is no secret, and other pages of this host may read it.
 * @param {string} name
 * @param {string} value
 */
function keep(name, value) {
  document.cookie = `${name}=${value}; path=/; max-age=${YEAR_SECONDS}; samesite=strict`;
}

const language = /** @type {HTMLSelectElement} */ (byId("language"));
language.addEventListener("change", () => {
  keep("a2c_language", language.value);
  location.reload();
});

const theme = /** @type {HTMLSelectElement} */ (byId("theme"));
theme.addEventListener("change", () => {
  keep("a2c_theme", theme.value);
  document.documentElement.dataset.theme = theme.value;
});

document.getElementById("logout")?.addEventListener("click", async () => {
  try {
    await remove("/session");
    location.assign(page("/login"));
  } catch (error) {
    complain(error);
  }
});

document.addEventListener("a2c:logged-out", () => {
  if (document.getElementById("logout") === null) return; // the login page
  const banner = byId("connection");
  const link = el("a", { href: `${page("/login")}?next=${encodeURIComponent(location.pathname)}` }, t("Log in"));
  fill(banner, t("You are logged out."), " ", link);
  banner.className = "banner bad";
  banner.hidden = false;
});

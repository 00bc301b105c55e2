// The clipboard.

import { notify } from "./notices.js";
import { t } from "./texts.js";

/**
 * Copy a text, and say whether that worked.
 * @param {string} text
 */
export async function copy(text) {
  try {
    // Browsers have no clipboard on pages without TLS, except those of this machine.
    if (navigator.clipboard === undefined) throw new Error("no clipboard");
    await navigator.clipboard.writeText(text);
    notify(t("Copied."));
  } catch {
    notify(t("The browser does not allow to copy: select the text and copy it yourself."), "bad");
  }
}

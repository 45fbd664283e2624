import type { Page } from "playwright-core";

export const ESC = "\x1b";
export const BELL = "\x07";
/** From right to left, until the end. */
export const TURNED = "\u202e";
/** Characters that turn or hide others. */
export const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}]/u;
const SCRIPT = "window.harmed='yes';document.title='harmed'";
export const MARKUP = [
  `<img src=x onerror="${SCRIPT}">`,
  `<script>${SCRIPT}</script>`,
  `"><svg onload="${SCRIPT}">`,
  `<a href="javascript:${SCRIPT}">click</a>`,
  `{{constructor.constructor('${SCRIPT}')()}}`,
];
/** What terminals do more with than to show it. */
export const SEQUENCES = [
  `${ESC}]0;harmed${BELL}`,
  `${ESC}]2;<b>harmed</b>${ESC}\\`,
  `${ESC}]52;c;${Buffer.from("harmed").toString("base64")}${BELL}`,
  `${ESC}]52;p;${Buffer.from("harmed").toString("base64")}${ESC}\\`,
  `${ESC}]52;c;?${BELL}`,
  `${ESC}]1337;File=inline=1:${Buffer.from("harmed").toString("base64")}${BELL}`,
  `${ESC}]7;file:///etc/passwd${BELL}`,
  `${ESC}]9;harmed${BELL}`,
  `${ESC}P+q544e${ESC}\\`,
  `${ESC}[21t`,
  `${ESC}[8;4;20t`,
];
/** Where a click must not lead. */
export const LINKS = [
  "javascript:window.harmed='yes'",
  "data:text/html,<script>1</script>",
  "file:///etc/passwd",
  "vbscript:x",
];

/** `LINKS` as sequences of terminals. */
export function linkSequences(): readonly string[] {
  return LINKS.map((target, index) => `${ESC}]8;;${target}${ESC}\\link-${index}${ESC}]8;;${ESC}\\`);
}

/** What output must not change. The elements within `shown` may change. */
export async function surroundings(page: Page, shown: string): Promise<unknown> {
  return page.evaluate(
    async (inside) => ({
      title: document.title,
      address: location.href,
      harmed: "harmed" in window,
      clipboard: await navigator.clipboard.readText(),
      stored: Object.keys(sessionStorage),
      scripts: document.querySelectorAll("script, iframe, object, embed, base, form[action], meta").length,
      // Elements that markup in output would have made.
      made: document.querySelectorAll(
        "img:not([class]), svg[onload], a[href^='javascript:'], [onerror], [onload]",
      ).length,
      /** The elements around it, by their names. */
      around: [...document.querySelectorAll("body *")]
        .filter((element) => element.closest(`${inside}, [aria-live], .toasts`) === null)
        .map((element) => element.localName)
        .join(" "),
    }),
    shown,
  );
}

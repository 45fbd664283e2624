import { computed, signal } from "@preact/signals";

export { below, pathTo } from "./addresses.ts";

const location_ = signal(location.pathname);

/** The path of the page, as in the address bar. */
export const path = computed(() => location_.value);

/** The page's position in its history, so that a browser navigation can be undone. */
let position = positionOf(history.state);
/** Asked before the page goes elsewhere. */
let mayLeave: (() => Promise<boolean>) | undefined;
/** Whether the user is being asked about a navigation. */
let isAsked = false;

/** Shows another view. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === location.pathname) return;
  void whenAllowed(() => {
    if (!replace) position++;
    history[replace ? "replaceState" : "pushState"]({ position }, "", to);
    location_.value = location.pathname;
  });
}

/** Has a question answered before the page goes elsewhere, until the returned function is called. */
export function askBeforeLeaving(question: () => Promise<boolean>): () => void {
  mayLeave = question;
  return () => {
    if (mayLeave === question) mayLeave = undefined;
  };
}

async function whenAllowed(go: () => void): Promise<void> {
  if (mayLeave === undefined || (await mayLeave())) go();
}

function positionOf(state: unknown): number {
  const position = (state as { position?: unknown } | null)?.position;
  return typeof position === "number" ? position : 0;
}

function onStep(): void {
  const question = mayLeave;
  if (question === undefined || positionOf(history.state) === position) arrive();
  else if (!isAsked) void askAboutStep(question);
}

/** The address has changed already, and may change again until the question is answered. */
async function askAboutStep(question: () => Promise<boolean>): Promise<void> {
  isAsked = true;
  const leaves = await question();
  isAsked = false;
  const back = position - positionOf(history.state);
  if (leaves) arrive();
  // A step of zero would reload the page.
  else if (back !== 0) history.go(back);
}

/** Shows what the address names. */
function arrive(): void {
  position = positionOf(history.state);
  location_.value = location.pathname;
}

/** Follows the buttons of the browser, and links within the page, without loading it again. */
export function followLinks(): void {
  addEventListener("popstate", onStep);
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a");
    if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin) return;
    const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    if (opensElsewhere || link.target !== "" || link.hasAttribute("download")) return;
    event.preventDefault();
    if (link.hash === "") navigate(link.pathname);
    else document.getElementById(link.hash.slice(1))?.focus();
  });
}

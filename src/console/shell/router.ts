import { computed, signal } from "@preact/signals";

export { below, pathTo } from "./addresses.ts";

const location_ = signal(location.pathname);

/** The path of the page, as in the address bar. */
export const path = computed(() => location_.value);

/** Where the page is in its history, so that a step of the browser can be taken back. */
let position = positionOf(history.state);
/** Asked before the page goes elsewhere. */
let mayLeave: (() => Promise<boolean>) | undefined;
/** A step of the browser that this page made itself. */
let isOwnStep = false;

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

function onStep(event: PopStateEvent): void {
  const next = positionOf(event.state);
  const step = next - position;
  if (isOwnStep || mayLeave === undefined || step === 0) {
    isOwnStep = false;
    position = next;
    location_.value = location.pathname;
    return;
  }
  // The address has changed already: back to where the page is, until it may leave.
  isOwnStep = true;
  history.go(-step);
  void mayLeave().then((may) => {
    if (!may) return;
    mayLeave = undefined;
    history.go(step);
  });
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

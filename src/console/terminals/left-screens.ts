import type { Emulator } from "./emulator.ts";

/** A pane that is shown again takes its screen at once. */
const KEPT_MS = 30_000;

const screens = new Map<
  string,
  { readonly emulator: Emulator; readonly timer: ReturnType<typeof setTimeout> }
>();

/** Keeps what a pane showed for the next one in its place. */
export function leaveScreen(key: string, emulator: Emulator): void {
  takeScreen(key)?.dispose();
  const timer = setTimeout(() => takeScreen(key)?.dispose(), KEPT_MS);
  screens.set(key, { emulator, timer });
}

/** What was left for this pane, if there is something. */
export function takeScreen(key: string): Emulator | undefined {
  const left = screens.get(key);
  if (left === undefined) return undefined;
  clearTimeout(left.timer);
  screens.delete(key);
  return left.emulator;
}

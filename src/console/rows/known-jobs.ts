import { readStored } from "../frame/read-stored.ts";

const KEY = "exec-server-ledgers";
const MAX_JOBS = 12;

/** Paths of ledgers that were opened in this browser, the latest first. */
export function recentLedgers(): string[] {
  const stored = readStored(localStorage, KEY);
  return Array.isArray(stored) ? stored.filter((path) => typeof path === "string") : [];
}

export function rememberLedger(path: string): void {
  forgetLedger(path);
  localStorage.setItem(KEY, JSON.stringify([path, ...recentLedgers()].slice(0, MAX_JOBS)));
}

export function forgetLedger(path: string): void {
  localStorage.setItem(KEY, JSON.stringify(recentLedgers().filter((known) => known !== path)));
}

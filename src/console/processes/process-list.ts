import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Host } from "../../client/browser.ts";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { ProcessHistory, type ProcessRow } from "./process-history.ts";

const EVERY_MS = 1000;
/** Interval while the page is hidden. */
const HIDDEN_MS = 5000;

const rows = signal<readonly ProcessRow[] | undefined>(undefined);
const failure = signal<unknown>(undefined);

/** The processes of the server, as far as something shows them. */
export const processList = { rows, failure };

let history = new ProcessHistory();
let listedHost: Host | undefined;
let watchers = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let asked: Promise<void> | undefined;

/** Keeps the list current for as long as the component is shown. */
export function useProcessList(): void {
  useEffect(() => {
    watchers += 1;
    if (watchers === 1) {
      document.addEventListener("visibilitychange", onVisible);
      void poll();
    }
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, []);
}

/** Refreshes the list now, such as after an action on a process. */
export function refreshProcesses(): Promise<void> {
  asked ??= ask().finally(() => {
    asked = undefined;
  });
  return asked;
}

/** The time by the server's clock, for ages. */
export function serverNow(): number {
  return Date.now() + history.clockMs;
}

function onVisible(): void {
  if (!document.hidden) void poll();
}

async function poll(): Promise<void> {
  clearTimeout(timer);
  await refreshProcesses();
  clearTimeout(timer);
  if (watchers > 0) timer = setTimeout(() => void poll(), document.hidden ? HIDDEN_MS : EVERY_MS);
}

async function ask(): Promise<void> {
  const host = serverLink.host.value;
  // The banner reports the connection.
  if (host === undefined || !serverLink.isConnected.value || !isAllowed("follow")) return;
  if (listedHost !== host) {
    listedHost = host;
    history = new ProcessHistory();
  }
  try {
    const listed = await host.processes({ scope: scopeOn(host), usage: true });
    if (listedHost !== host) return;
    rows.value = history.update(listed, performance.now());
    failure.value = undefined;
  } catch (error) {
    if (serverLink.isConnected.value && listedHost === host) failure.value = error;
  }
}

/** The widest that is allowed. */
function scopeOn(host: Host): "session" | "kept" | "server" {
  const scopes = serverLink.rights.value?.scopes ?? [];
  if (scopes.includes("server")) return "server";
  return host.supports("process/start.keep") ? "kept" : "session";
}

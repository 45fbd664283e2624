import { effect } from "@preact/signals";
import { ConnectionError, type Host } from "../../../client/browser.ts";
import { serverLink } from "../../connection/server-link.ts";

/** Maximum number of sessions that work may lose in a row, for example to server restarts, before it fails. */
const MAX_SESSIONS = 5;

/** Runs work with the session of the page, and again with the next one if the session is lost. */
export async function withHost<T>(signal: AbortSignal, work: (host: Host) => Promise<T>): Promise<T> {
  for (let sessions = 1; ; sessions++) {
    const host = await connectedHost(signal);
    try {
      return await work(host);
    } catch (error) {
      const isLost = error instanceof ConnectionError && error.code === "SESSION_LOST";
      if (!isLost || signal.aborted || sessions === MAX_SESSIONS) throw error;
    }
  }
}

/** The session of the page, as soon as there is one. */
function connectedHost(signal: AbortSignal): Promise<Host> {
  return new Promise((resolve, reject) => {
    let dispose: (() => void) | undefined;
    const finish = (): void => queueMicrotask(() => dispose?.());
    signal.addEventListener("abort", () => {
      finish();
      reject(signal.reason as Error);
    });
    dispose = effect(() => {
      const host = serverLink.host.value;
      if (!serverLink.isConnected.value || host === undefined) return;
      finish();
      resolve(host);
    });
  });
}

import { SESSION_OVER_CLOSE_CODE } from "../../../protocol/wire-limits.ts";
import { HIGH_WATER_BYTES, type Transport } from "../../../transport/transport.ts";

/**
 * Passes messages between a page and what `open` connects to, until one of them ends. Each side waits for the other.
 * Rejects if `open` does; its signal is aborted, and nothing rejects, if the page leaves before.
 */
export async function carryMessages(
  page: Transport,
  open: (signal: AbortSignal) => Promise<Transport>,
): Promise<void> {
  const left = new AbortController();
  let server: Transport | undefined;
  /** Messages that the page sends before the server is connected. Pausing the page would hide that it disconnects. */
  const early: string[] = [];
  let earlyLength = 0;
  page.open({
    message: (text) => {
      if (server !== undefined) return pass(text, page, server);
      early.push(text);
      earlyLength += text.length;
      if (earlyLength >= HIGH_WATER_BYTES) page.pause();
    },
    drain: () => server?.resume(),
    close: (reason, code) => {
      left.abort();
      if (server !== undefined) end(server, reason, code);
    },
  });
  try {
    server = await open(left.signal);
  } catch (error) {
    if (left.signal.aborted) return;
    throw error;
  }
  const opened = server;
  if (left.signal.aborted) return opened.destroy();
  opened.open({
    message: (text) => pass(text, opened, page),
    drain: () => page.resume(),
    close: (reason) => end(page, reason),
  });
  for (const text of early.splice(0)) opened.send(text);
  if (opened.queuedBytes < HIGH_WATER_BYTES) page.resume();
}

function pass(text: string, from: Transport, to: Transport): void {
  to.send(text);
  if (to.queuedBytes >= HIGH_WATER_BYTES) from.pause();
}

/** A page that leaves for good says so by a code; without it, the server would keep its session for a while. */
function end(transport: Transport, reason: string | undefined, code?: number): void {
  if (reason !== undefined) transport.destroy(reason);
  else transport.close(code === SESSION_OVER_CLOSE_CODE ? { code, reason: "" } : undefined);
}

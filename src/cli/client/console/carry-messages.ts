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
  /** What the page sends before there is a server. A paused page could not be seen leaving. */
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
    close: (reason) => {
      left.abort();
      if (server !== undefined) end(server, reason);
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

function end(transport: Transport, reason: string | undefined): void {
  if (reason === undefined) transport.close();
  else transport.destroy(reason);
}

import { shownUrl } from "../../base/shown-url.ts";
import { UsageError } from "../../base/errors.ts";

/** Throws a UsageError for what cannot be a server: nothing at all, a number, or the address of a web page. */
export function checkTarget(target: unknown): void {
  if (typeof target === "function") return;
  if (typeof target !== "string" && (typeof target !== "object" || target === null))
    throw new UsageError(
      `connect needs a server, not ${String(target)}: a URL such as ws://127.0.0.1:7070, or { command: [program, …] }`,
    );
  const url = typeof target === "string" || target instanceof URL ? String(target) : "";
  const [, secure, rest] = /^http(s?)(:\/\/.*)$/i.exec(url) ?? [];
  // The WebSocket library would take it, and so would browsers, but no other client of the server does.
  if (rest !== undefined)
    throw new UsageError(
      `${shownUrl(url)} is the address of a web page; the server's is ${shownUrl(`ws${secure?.toLowerCase()}${rest}`)}`,
    );
}

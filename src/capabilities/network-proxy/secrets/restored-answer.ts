import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ReplacingStream, replaceAllText, type Restoring } from "./replacement.ts";

/** An answer in which stand-ins are back in the place of their secrets. */
export interface RestoredAnswer {
  /** Names and values in turn. */
  readonly headers: string[];
  /** Through which its body has to go, in this order. */
  readonly stages: readonly Transform[];
}

/** What is asked for is not compressed, but servers may answer as they like. What was cut off before its end is passed on. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  "x-gzip": () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ finishFlush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

/**
 * Headers with which a client could ask for an answer that cannot be looked through: compressed, or a piece of it that
 * contains a part of a secret.
 */
export const UNRESTORABLE_HEADERS = [
  "accept-encoding",
  "range",
  "request-range",
  "if-range",
  "sec-websocket-extensions",
] as const;

/** Undefined for an answer that cannot be looked through. `headers` are those that are passed on. */
export function restoredAnswer(
  { statusCode, headers: parsed }: IncomingMessage,
  { method, headers, restoring }: { method: string; headers: readonly string[]; restoring: Restoring },
): RestoredAnswer | undefined {
  const hasBody = method !== "HEAD" && statusCode !== 204 && statusCode !== 304;
  const coding = parsed["content-encoding"]?.trim().toLowerCase() ?? "identity";
  const transfer = parsed["transfer-encoding"]?.trim().toLowerCase() ?? "chunked";
  if (hasBody && transfer !== "chunked") return undefined;
  const isPlain = coding === "identity" || coding === "" || !hasBody;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (!isPlain && decoder === undefined) return undefined;
  const dropped = isPlain ? [] : ["content-encoding", "content-length"];
  return {
    headers: restoredHeaders(headers, restoring, dropped),
    stages: hasBody ? [...(isPlain ? [] : [decoder!()]), new ReplacingStream(restoring)] : [],
  };
}

export function restoredHeaders(
  raw: readonly string[],
  restoring: Restoring,
  dropped: readonly string[] = [],
): string[] {
  const headers: string[] = [];
  const replacements = restoring();
  for (let index = 0; index + 1 < raw.length; index += 2)
    if (!dropped.includes(raw[index]!.toLowerCase()))
      headers.push(...[raw[index]!, raw[index + 1]!].map((text) => replaceAllText(text, replacements)));
  return headers;
}

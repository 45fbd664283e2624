import type { MethodName } from "../../protocol/index.ts";

/** What a lost answer means for a call if the session continues. */
export type LostAnswer =
  /** The call is idempotent and may be repeated. */
  | "repeat"
  /** It affected only state of the connection, and ended with it. */
  | "ended"
  /** Its effect is unknown, and it is not idempotent. */
  | "unknown";

type Fields = Readonly<Record<string, unknown>>;

const always = (): LostAnswer => "repeat";
const bound = (): LostAnswer => "ended";
const repeatIf = (may: (params: Fields) => boolean) => (params: Fields) =>
  may(params) ? "repeat" : "unknown";

/** Methods not listed here are `unknown`. */
const LOST: Partial<Record<MethodName, (params: Fields) => LostAnswer>> = {
  "environment/info": always,
  "environment/status": always,
  "server/status": always,
  "console/link": always,
  "server/sessions": always,
  "server/limits": always,
  "server/audit": always,
  "server/cordon": always,
  "environmentConfig/read": always,
  "capabilityRoots/discoverV1": always,
  "capabilities/discoverV2": always,
  // Files. Writing a whole file again gives the same file, a directory that may exist exists, and a path that may be
  // missing is gone. A plain `createDirectory`, `symlink` or `remove` would meet its own effect and fail; `rename` and
  // `copy` would affect what has taken the place meanwhile.
  "fs/readFile": always,
  "fs/getMetadata": always,
  "fs/readDirectory": always,
  "fs/walk": always,
  "fs/readLink": always,
  "fs/hash": always,
  "fs/chmod": always,
  "fs/symlink": repeatIf(({ replace }) => replace === true),
  "fs/canonicalize": always,
  "fs/writeFile": always,
  "fs/createDirectory": repeatIf(({ recursive }) => recursive === true),
  "fs/remove": repeatIf(({ force }) => force === true),
  // Handles and watches end with their connection.
  "fs/open": bound,
  "fs/openPart": bound,
  "fs/readBlock": bound,
  "fs/close": bound,
  "fs/watch": bound,
  "fs/unwatch": bound,
  "fs/watchMissing": bound,
  "http/flow": bound,
  "http/cancel": bound,
  "process/flow": bound,
  "tcp/connect": bound,
  "tcp/read": bound,
  "tcp/write": bound,
  "tcp/close": bound,
  // An attachment to a kept process outlives its connection, and attaching to it again changes nothing.
  "process/attach": ({ name }) => (typeof name === "string" ? "repeat" : "ended"),
  "process/detach": always,
  // Processes. A write has an id by which the server recognizes it; a start may have a key.
  "process/start": repeatIf(({ idempotencyKey }) => typeof idempotencyKey === "string"),
  "process/write": repeatIf(({ writeId }) => typeof writeId === "string"),
  "process/read": always,
  "process/wait": always,
  "process/list": always,
  "process/snapshot": always,
  "process/times": always,
  "process/terminate": always,
  "process/closeStdin": always,
  "process/resize": always,
};

/** What a lost answer means for a call. */
export function lostAnswer(method: MethodName, params: unknown): LostAnswer {
  const judge = Object.hasOwn(LOST, method) ? LOST[method] : undefined;
  return judge?.((params ?? {}) as Fields) ?? "unknown";
}

import type { MethodName } from "../../protocol/index.ts";

/** What it means that the answer to a call was lost with its connection, while the session goes on. */
export type LostAnswer =
  /** The call may be made again: twice is like once. */
  | "repeat"
  /** It changed nothing but what belonged to the connection, and ended with it. */
  | "ended"
  /** Nobody can say whether it was done, and doing it twice is not the same as once. */
  | "unknown";

type Fields = Readonly<Record<string, unknown>>;

const always = (): LostAnswer => "repeat";
const bound = (): LostAnswer => "ended";
const repeatIf = (may: (params: Fields) => boolean) => (params: Fields) =>
  may(params) ? "repeat" : "unknown";

/** Methods that are not named here are `unknown`. */
const LOST: Partial<Record<MethodName, (params: Fields) => LostAnswer>> = {
  "environment/info": always,
  "environment/status": always,
  "environmentConfig/read": always,
  "capabilityRoots/discoverV1": always,
  "capabilities/discoverV2": always,
  // Files. A file that is written whole is the same after the second time, a directory that may exist is there, and a path that may be missing is gone.
  // A plain `createDirectory`, `symlink` or `remove` would meet its own effect and fail; `rename` and `copy` would take what has come to the place meanwhile.
  "fs/readFile": always,
  "fs/getMetadata": always,
  "fs/readDirectory": always,
  "fs/walk": always,
  "fs/readLink": always,
  "fs/chmod": always,
  "fs/symlink": repeatIf(({ replace }) => replace === true),
  "fs/canonicalize": always,
  "fs/writeFile": always,
  "fs/createDirectory": repeatIf(({ recursive }) => recursive === true),
  "fs/remove": repeatIf(({ force }) => force === true),
  // Handles and watches end with their connection.
  "fs/open": bound,
  "fs/readBlock": bound,
  "fs/close": bound,
  "fs/watch": bound,
  "fs/unwatch": bound,
  "fs/watchMissing": bound,
  "http/flow": bound,
  "http/cancel": bound,
  "process/flow": bound,
  "process/attach": bound,
  "process/detach": bound,
  // Processes. A write has an id by which the server knows it again, a start may have a key.
  "process/start": repeatIf(({ idempotencyKey }) => typeof idempotencyKey === "string"),
  "process/write": repeatIf(({ writeId }) => typeof writeId === "string"),
  "process/read": always,
  "process/wait": always,
  "process/list": always,
  "process/snapshot": always,
  "process/terminate": always,
  "process/closeStdin": always,
  "process/resize": always,
};

/** Tells what a lost answer means for a call. */
export function lostAnswer(method: MethodName, params: unknown): LostAnswer {
  const judge = Object.hasOwn(LOST, method) ? LOST[method] : undefined;
  return judge?.((params ?? {}) as Fields) ?? "unknown";
}

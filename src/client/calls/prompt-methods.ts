import type { MethodName } from "../../protocol/index.ts";

/** What a server answers at once, with little. Others wait for something, or move data. */
const PROMPT: ReadonlySet<MethodName> = new Set<MethodName>([
  "environment/info",
  "environment/status",
  "server/status",
  "server/sessions",
  "server/limits",
  "server/audit",
  "server/cordon",
  "console/link",
  "process/start",
  "process/list",
  "process/attach",
  "process/detach",
  "process/signal",
  "process/terminate",
  "process/snapshot",
  "process/times",
  "process/resize",
  "process/closeStdin",
  "fs/getMetadata",
  "fs/readDirectory",
  "fs/readLink",
  "fs/canonicalize",
  "fs/createDirectory",
  "fs/symlink",
  "fs/chmod",
  "fs/rename",
  "fs/open",
  "fs/openPart",
  "fs/readBlock",
  "fs/close",
  "fs/watch",
  "fs/unwatch",
]);

/** Whether a server that does not answer this call soon will not answer at all. */
export function isPrompt(method: MethodName, params: unknown): boolean {
  if (method === "process/read") return !((params as { waitMs?: number | null }).waitMs ?? 0);
  return PROMPT.has(method);
}

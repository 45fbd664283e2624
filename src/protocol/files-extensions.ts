import * as z from "zod";
import { method, notification, schema } from "./define.ts";
import { Empty, optional, PathUri } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

const WatchId = schema(() => z.string().describe("Chosen by the client, unique in its connection"));

/** What this server adds to Codex's file methods. */
export const fileExtensionMethods = {
  "fs/rename": method({
    doc: "Moves a file, a link or a directory within its file system, in one step. A file or link at the new place is replaced, a directory only by one when it is empty.",
    family: "filesystem",
    extension: true,
    params: () => z.object({ from: PathUri(), to: PathUri(), sandbox: optional(SandboxContext()) }),
    result: Empty,
  }),
  "fs/watch": method({
    doc: "Tells of what comes, goes or changes at a file, or in a directory, as `fs/watch/changed`. A watch ends with its connection.",
    family: "filesystem",
    extension: true,
    params: () =>
      z.object({
        watchId: WatchId(),
        path: PathUri(),
        recursive: optional(z.boolean()).describe(
          "False when absent; true watches up to 8192 directories below too, but no links to directories",
        ),
        sandbox: optional(SandboxContext()),
      }),
    result: Empty,
  }),
  "fs/unwatch": method({
    doc: "Ends a watch; an unknown one is no error.",
    family: "filesystem",
    extension: true,
    params: () => z.object({ watchId: WatchId() }),
    result: Empty,
  }),
};

export const fileExtensionNotifications = {
  "fs/watch/changed": notification({
    doc: "Something has changed. What happens within a moment comes as one notification, and as often as a slow client takes them.",
    from: "server",
    extension: true,
    params: () =>
      z.object({
        watchId: WatchId(),
        paths: z.array(PathUri()).describe("What came, went or changed, each once"),
        overflow: z.boolean().describe("More has changed than is named: look at everything"),
        ended: z.boolean().describe("What was watched is gone, and the watch is over"),
      }),
  }),
};

import * as z from "zod";
import { method, notification, schema } from "./define.ts";
import { Empty, FileMode, optional, PathUri } from "./fields.ts";
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
  "fs/chmod": method({
    doc: "Sets the permissions of what a path leads to.",
    family: "filesystem",
    extension: true,
    params: () => z.object({ path: PathUri(), mode: FileMode(), sandbox: optional(SandboxContext()) }),
    result: Empty,
  }),
  "fs/symlink": method({
    doc: "Creates a symbolic link. Its target need not exist, and may be anywhere: whoever follows the link is checked then.",
    family: "filesystem",
    extension: true,
    params: () =>
      z.object({
        target: z.string().describe("Text of the link, a path that is absolute or relative to the link"),
        path: PathUri().describe("Where the link is created"),
        replace: optional(z.boolean()).describe(
          "False when absent; true puts the link in the place of a file or another link, in one step",
        ),
        sandbox: optional(SandboxContext()),
      }),
    result: Empty,
  }),
  "fs/readLink": method({
    doc: "Returns the text of a symbolic link; anything else is an error (EINVAL).",
    family: "filesystem",
    extension: true,
    params: () => z.object({ path: PathUri(), sandbox: optional(SandboxContext()) }),
    result: () => z.object({ target: z.string() }),
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

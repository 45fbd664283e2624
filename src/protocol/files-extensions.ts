import * as z from "zod";
import { method, notification, schema } from "./define.ts";
import { Empty, FileMode, optional, PathUri } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

const WatchId = schema(() => z.string().describe("Chosen by the client; unique within its connection"));

/** What this server adds to Codex's file methods. */
export const fileExtensionMethods = {
  "fs/rename": method({
    doc: "Moves a file, a link or a directory within its file system, atomically. An existing file or link at the destination is replaced; an existing directory only if it is empty, and only by a directory.",
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
    doc: "Creates a symbolic link. Its target need not exist, and may be anywhere: access is checked when the link is followed.",
    family: "filesystem",
    extension: true,
    params: () =>
      z.object({
        target: z.string().describe("Text of the link: an absolute path, or one relative to the link"),
        path: PathUri().describe("Where the link is created"),
        replace: optional(z.boolean()).describe(
          "Atomically replace an existing file or link. Default: false",
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
    doc: "Watches a file or a directory and reports changes as `fs/watch/changed`. A watch ends with its connection.",
    family: "filesystem",
    extension: true,
    params: () =>
      z.object({
        watchId: WatchId(),
        path: PathUri(),
        recursive: optional(z.boolean()).describe(
          "Also watch up to 8192 directories below, except through links. Default: false",
        ),
        sandbox: optional(SandboxContext()),
      }),
    result: Empty,
  }),
  "fs/unwatch": method({
    doc: "Ends a watch; an unknown id is not an error.",
    family: "filesystem",
    extension: true,
    params: () => z.object({ watchId: WatchId() }),
    result: Empty,
  }),
};

export const fileExtensionNotifications = {
  "fs/watch/changed": notification({
    doc: "Something has changed. Changes within a short time are combined into one notification, and a slow client gets fewer notifications.",
    from: "server",
    extension: true,
    params: () =>
      z.object({
        watchId: WatchId(),
        paths: z.array(PathUri()).describe("Paths that appeared, disappeared or changed, each once"),
        overflow: z.boolean().describe("There were more changes than listed: check everything"),
        ended: z.boolean().describe("The watched path is gone, and the watch has ended"),
      }),
  }),
};

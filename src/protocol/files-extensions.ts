import * as z from "zod";
import { method, notification, schema } from "./define.ts";
import { chosenId, Empty, FileMode, optional, PathUri, Unsigned } from "./fields.ts";
import { HandleId, noLinks } from "./files.ts";
import { SandboxContext } from "./sandbox.ts";

const WatchId = schema(() => chosenId("unique within its connection"));

/** What this server adds to Codex's file methods. */
export const fileExtensionMethods = {
  "fs/rename": method({
    doc: "Moves a file, a link or a directory within its file system, atomically. An existing file or link at the destination is replaced; an existing directory only if it is empty, and only by a directory.",
    family: "filesystem",
    right: "writeFiles",
    lost: "unknown",
    answers: "promptly",
    extension: true,
    extensionParams: ["noLinks"],
    params: () =>
      z.object({ from: PathUri(), to: PathUri(), noLinks: noLinks(), sandbox: optional(SandboxContext()) }),
    result: Empty,
  }),
  "fs/chmod": method({
    doc: "Sets the permissions of what a path leads to.",
    family: "filesystem",
    right: "writeFiles",
    lost: "repeat",
    answers: "promptly",
    extension: true,
    extensionParams: ["noLinks"],
    params: () =>
      z.object({
        path: PathUri(),
        mode: FileMode(),
        noLinks: noLinks(),
        sandbox: optional(SandboxContext()),
      }),
    result: Empty,
  }),
  "fs/symlink": method({
    doc: "Creates a symbolic link. Its target need not exist, and may be anywhere: access is checked when the link is followed.",
    family: "filesystem",
    right: "writeFiles",
    lost: { repeatWith: "replace", otherwise: "unknown" },
    answers: "promptly",
    extension: true,
    extensionParams: ["noLinks"],
    params: () =>
      z.object({
        target: z.string().describe("Text of the link: an absolute path, or one relative to the link"),
        path: PathUri().describe("Where the link is created"),
        replace: optional(z.boolean()).describe(
          "Atomically replace an existing file or link. Default: false",
        ),
        noLinks: noLinks(),
        sandbox: optional(SandboxContext()),
      }),
    result: Empty,
  }),
  "fs/readLink": method({
    doc: "Returns the text of a symbolic link; anything else is an error (EINVAL).",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "promptly",
    extension: true,
    params: () => z.object({ path: PathUri(), sandbox: optional(SandboxContext()) }),
    result: () => z.object({ target: z.string() }),
  }),
  "fs/hash": method({
    doc: "Returns the SHA-256 of a regular file, of a part of it, or of several files of one directory. Later requests do not wait for it.",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "eventually",
    extension: true,
    params: () =>
      z.object({
        path: PathUri().describe("The file; with `names`, the directory"),
        names: optional(z.array(z.string())).describe("Names of entries of the directory, at most 1024"),
        offset: optional(Unsigned()).describe("Start of the part in bytes. Default: 0"),
        length: optional(Unsigned()).describe("Length of the part in bytes. Default: up to the end"),
        sandbox: optional(SandboxContext()),
      }),
    result: () =>
      z.object({
        hashes: z
          .array(
            z.object({
              bytes: Unsigned().describe(
                "Number of bytes hashed; fewer than `length` at the end of the file",
              ),
              sha256: z
                .string()
                .optional()
                .describe("In hexadecimal. Absent if a name is not a regular file or cannot be read"),
            }),
          )
          .describe("One for the file, or one for each name in its order"),
      }),
  }),
  "fs/openPart": method({
    doc: "Opens a file for `fs/writeBlock` without replacing it, so that an interrupted copy can be continued; creates it if it is missing. Refuses a link, a file of another user, and one with several names. The handle lives as long as the connection.",
    family: "filesystem",
    right: "writeFiles",
    lost: "opened",
    answers: "promptly",
    extension: true,
    extensionParams: ["noLinks"],
    params: () =>
      z.object({
        handleId: HandleId(),
        path: PathUri(),
        length: optional(Unsigned()).describe(
          "How much of an existing file is kept; the file must have that many bytes. Default: 0",
        ),
        private: optional(z.boolean()).describe(
          "Only its user may read and write it. Default: false, the umask decides for a new file",
        ),
        noLinks: noLinks(),
        sandbox: optional(SandboxContext()),
      }),
    result: () => z.object({ handleId: HandleId() }),
  }),
  "fs/watch": method({
    doc: "Watches a file or a directory and reports changes as `fs/watch/changed`. A watch ends with its connection.",
    family: "filesystem",
    right: "readFiles",
    lost: "opened",
    answers: "promptly",
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
    right: "readFiles",
    lost: "ended",
    answers: "promptly",
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

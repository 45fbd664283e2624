import * as z from "zod";
import { methodsWith, notification, schema } from "./define.ts";
import { chosenId, Empty, FileMode, nullableFlag, optional, PathUri, Unsigned } from "./fields.ts";
import { HandleId, noLinks } from "./files.ts";
import { SandboxContext } from "./sandbox.ts";

const WatchId = schema(() => chosenId("unique within its connection"));

const readMethod = methodsWith({
  family: "filesystem",
  right: "readFiles",
  lost: "repeat",
  answers: "promptly",
  extension: true,
});
const writeMethod = methodsWith({
  family: "filesystem",
  right: "writeFiles",
  answers: "promptly",
  extension: true,
});

/** Extensions of Codex's file methods. */
export const fileExtensionMethods = {
  "fs/rename": writeMethod({
    doc: "Moves a file, a link or a directory within its file system, atomically. An existing file or link at the destination is replaced; an existing directory only if it is empty, and only by a directory.",
    lost: "unknown",
    extensionParams: ["noLinks"],
    params: () =>
      z.object({ from: PathUri(), to: PathUri(), noLinks: noLinks(), sandbox: optional(SandboxContext()) }),
    result: Empty,
  }),
  "fs/chmod": writeMethod({
    doc: "Sets the permissions of what a path leads to.",
    lost: "repeat",
    extensionParams: ["noLinks"],
    params: () => ({
      path: PathUri(),
      mode: FileMode(),
      noLinks: noLinks(),
      sandbox: optional(SandboxContext()),
    }),
    result: Empty,
  }),
  "fs/symlink": writeMethod({
    doc: "Creates a symbolic link. Its target need not exist, and may be anywhere: access is checked when the link is followed.",
    lost: { repeatWith: "replace", otherwise: "unknown" },
    extensionParams: ["noLinks"],
    params: () => ({
      target: z.string().describe("Text of the link: an absolute path, or one relative to the link"),
      path: PathUri().describe("Where the link is created"),
      replace: nullableFlag("Atomically replace an existing file or link. Default: false"),
      noLinks: noLinks(),
      sandbox: optional(SandboxContext()),
    }),
    result: Empty,
  }),
  "fs/readLink": readMethod({
    doc: "Returns the text of a symbolic link; anything else is an error (EINVAL).",
    params: () => ({ path: PathUri(), sandbox: optional(SandboxContext()) }),
    result: () => ({ target: z.string() }),
  }),
  "fs/hash": readMethod({
    doc: "Returns the SHA-256 of a regular file, of a part of it, or of several files of one directory. Later requests do not wait for it.",
    answers: "eventually",
    params: () => ({
      path: PathUri().describe("The file; with `names`, the directory"),
      names: optional(z.array(z.string())).describe("Names of entries of the directory, at most 1024"),
      offset: optional(Unsigned()).describe("Start of the part in bytes. Default: 0"),
      length: optional(Unsigned()).describe("Length of the part in bytes. Default: up to the end"),
      sandbox: optional(SandboxContext()),
    }),
    result: () => ({
      hashes: z
        .array(
          z.object({
            bytes: Unsigned().describe("Number of bytes hashed; fewer than `length` at the end of the file"),
            sha256: z
              .string()
              .optional()
              .describe("In hexadecimal. Absent if a name is not a regular file or cannot be read"),
          }),
        )
        .describe("One for the file, or one for each name in its order"),
    }),
  }),
  "fs/openPart": writeMethod({
    doc: "Opens a file for `fs/writeBlock` without replacing it, so that an interrupted copy can be continued; creates it if it is missing. Refuses a link, a file of another user, and one with several names. The handle lives as long as the connection.",
    lost: "opened",
    extensionParams: ["noLinks"],
    params: () => ({
      handleId: HandleId(),
      path: PathUri(),
      length: optional(Unsigned()).describe(
        "How much of an existing file is kept; the file must have that many bytes. Default: 0",
      ),
      private: nullableFlag(
        "Only its user may read and write it. Default: false, the umask decides for a new file",
      ),
      noLinks: noLinks(),
      sandbox: optional(SandboxContext()),
    }),
    result: () => ({ handleId: HandleId() }),
  }),
  "fs/watch": readMethod({
    doc: "Watches a file or a directory and reports changes as `fs/watch/changed`. A watch ends with its connection.",
    lost: "opened",
    params: () => ({
      watchId: WatchId(),
      path: PathUri(),
      recursive: nullableFlag(
        "Also watch up to 8192 directories below, except through links. Default: false",
      ),
      sandbox: optional(SandboxContext()),
    }),
    result: Empty,
  }),
  "fs/unwatch": readMethod({
    doc: "Ends a watch; an unknown id is not an error.",
    lost: "ended",
    params: () => ({ watchId: WatchId() }),
    result: Empty,
  }),
};

export const fileExtensionNotifications = {
  "fs/watch/changed": notification({
    doc: "Something has changed. Changes within a short time are combined into one notification, and a slow client gets fewer notifications.",
    from: "server",
    extension: true,
    params: () => ({
      watchId: WatchId(),
      paths: z.array(PathUri()).describe("Paths that appeared, disappeared or changed, each once"),
      overflow: z.boolean().describe("There were more changes than listed: check everything"),
      ended: z.boolean().describe("The watched path is gone, and the watch has ended"),
    }),
  }),
};

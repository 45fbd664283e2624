import * as z from "zod";
import { extensionField, methodsWith, notification, object, schema } from "./define.ts";
import { Base64, Empty, FileMode, flag, nullableFlag, optional, PathUri, Unsigned } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

const sandbox = schema(() => optional(SandboxContext()));
const followSymlinks = schema(() =>
  nullableFlag("Default: true; false refuses a symbolic link anywhere in the path"),
);
export const noLinks = schema(() =>
  nullableFlag(
    "True refuses a symbolic link anywhere in the path, also one that appears meanwhile; an entry that is removed, renamed or replaced may be one",
  ),
);
export const HandleId = schema(() =>
  z.string().describe("Chosen by the client; unique within its connection; at most 32 bytes"),
);
/** A member of an entry in a detailed listing. */
const detail = <T extends z.ZodType>(type: T) =>
  extensionField(type.optional().describe("Present with `detailed`"));
const TimeMs = schema(() => z.number().int().describe("Milliseconds since the epoch"));

/** Kinds other than file, directory and link. */
const SpecialKind = schema(() => z.enum(["pipe", "socket", "block device", "character device"]));

export const WalkOptions = object(() => ({
  maxDepth: Unsigned().describe("0 lists only the children of the root; at most 64"),
  maxDirectories: Unsigned().describe("1 to 10000; the root counts"),
  maxEntries: Unsigned().describe("1 to 50000; counts every name visited"),
  followDirectorySymlinks: z.boolean().describe("Enter linked directories, each real directory once"),
  pruneHiddenDirectories: flag("List directories with a leading dot, but do not enter them"),
}));

const readMethod = methodsWith({
  family: "filesystem",
  right: "readFiles",
  lost: "repeat",
  answers: "promptly",
});
const writeMethod = methodsWith({ family: "filesystem", right: "writeFiles", answers: "eventually" });

export const fileMethods = {
  "fs/readFile": readMethod({
    doc: "Returns a whole regular file; use `fs/open` for large files.",
    answers: "eventually",
    extensionParams: ["maxBytes"],
    params: () => ({
      path: PathUri(),
      followSymlinks: followSymlinks(),
      maxBytes: optional(Unsigned()).describe("Do not read a longer file; answer with its `size` instead"),
      sandbox: sandbox(),
    }),
    result: () => ({
      dataBase64: Base64(),
      size: extensionField(
        Unsigned()
          .optional()
          .describe("In bytes; only of a file that is longer than `maxBytes`, with an empty `dataBase64`"),
      ),
    }),
  }),
  "fs/open": readMethod({
    doc: "Opens a file for `fs/readBlock` or `fs/writeBlock`; the handle lives as long as the connection.",
    lost: "opened",
    alsoNeeds: { param: "mode", is: "replace", right: "writeFiles" },
    extensionParams: ["noLinks"],
    params: () => ({
      handleId: HandleId(),
      path: PathUri(),
      mode: z
        .enum(["read", "replace"])
        .optional()
        .describe("Default: `read`; `replace` creates the file or truncates it at once, in place"),
      noLinks: noLinks(),
      sandbox: sandbox(),
    }),
    result: () => ({ handleId: HandleId() }),
  }),
  "fs/readBlock": readMethod({
    doc: "Reads a part of an open file.",
    lost: "ended",
    params: () => ({
      handleId: HandleId(),
      offset: Unsigned().describe("In bytes"),
      len: Unsigned().describe("1 to 1048576 bytes"),
    }),
    result: () => ({
      chunk: Base64(),
      eof: z
        .boolean()
        .describe(
          "Fewer than `len` bytes were read; false for a read that ends exactly at the end of the file",
        ),
    }),
  }),
  "fs/writeBlock": writeMethod({
    doc: "Writes a part of a file that was opened with `replace`; a hole reads as zeros.",
    lost: "unknown",
    params: () => ({
      handleId: HandleId(),
      offset: Unsigned().describe("In bytes"),
      chunk: Base64().describe("1 to 1048576 bytes in standard base64"),
    }),
    result: Empty,
  }),
  "fs/close": readMethod({
    doc: "Closes a handle; an unknown id is not an error.",
    lost: "ended",
    lane: "control",
    params: () => ({ handleId: HandleId() }),
    result: Empty,
  }),
  "fs/writeFile": writeMethod({
    doc: "Creates or replaces a file; its directory must exist.",
    lost: "repeat",
    extensionParams: ["mode", "noLinks"],
    params: () => ({
      path: PathUri(),
      dataBase64: Base64(),
      followSymlinks: followSymlinks(),
      mode: optional(FileMode()).describe(
        "Permissions of the regular file, regardless of the umask. Default: 0666 minus the umask for a new file; an existing file keeps its own",
      ),
      noLinks: noLinks(),
      sandbox: sandbox(),
    }),
    result: Empty,
  }),
  "fs/createDirectory": writeMethod({
    doc: "Creates a directory.",
    lost: { repeatWith: "recursive", otherwise: "unknown" },
    answers: "promptly",
    params: () => ({
      path: PathUri(),
      recursive: nullableFlag("Also create parents, and accept an existing directory. Default: true"),
      followSymlinks: followSymlinks(),
      sandbox: sandbox(),
    }),
    result: Empty,
  }),
  "fs/getMetadata": readMethod({
    doc: "Returns metadata of a path.",
    extensionParams: ["includeMode"],
    params: () => ({
      path: PathUri(),
      followSymlinks: followSymlinks(),
      includeMode: nullableFlag("True adds `mode` to the result"),
      sandbox: sandbox(),
    }),
    result: () => ({
      isDirectory: z.boolean(),
      isFile: z.boolean().describe("A regular file; devices and pipes are neither file nor directory"),
      isSymlink: z.boolean().describe("The path itself is a link; the other members describe its target"),
      size: Unsigned().describe("In bytes"),
      createdAtMs: TimeMs().describe("Milliseconds since the epoch; 0 if the platform does not record it"),
      modifiedAtMs: TimeMs(),
      mode: extensionField(Unsigned().optional().describe("Permission bits; present with `includeMode`")),
    }),
  }),
  "fs/canonicalize": readMethod({
    doc: "Resolves all symbolic links of an existing path.",
    params: () => ({ path: PathUri(), sandbox: sandbox() }),
    result: () => ({ path: PathUri() }),
  }),
  "fs/readDirectory": readMethod({
    doc: "Lists a directory in no particular order, without broken links.",
    extensionParams: ["detailed"],
    params: () => ({
      path: PathUri(),
      detailed: nullableFlag(
        "Describe the entries themselves: links, including broken ones, are listed as links, with neither type",
      ),
      sandbox: sandbox(),
    }),
    result: () => ({
      entries: z
        .array(
          z.object({
            fileName: z.string(),
            isDirectory: z.boolean(),
            isFile: z.boolean(),
            isSymlink: detail(z.boolean()),
            mode: detail(Unsigned()),
            size: detail(Unsigned()),
            modifiedAtMs: detail(TimeMs()),
            special: extensionField(
              SpecialKind().optional().describe("Present with `detailed` for what is none of these"),
            ),
          }),
        )
        .describe("A link has the type of its target, unless the listing is `detailed`"),
    }),
  }),
  "fs/walk": readMethod({
    doc: "Lists a tree level by level, sorted by name, without special files and links to files.",
    answers: "eventually",
    params: () => ({ path: PathUri(), options: WalkOptions(), sandbox: sandbox() }),
    result: () => ({
      entries: z.array(z.object({ path: PathUri(), kind: z.enum(["directory", "file"]) })),
      errors: z
        .array(z.object({ path: PathUri(), message: z.string() }))
        .describe("Paths that could not be read"),
      truncated: z.boolean().describe("The walk stopped early at a limit"),
    }),
  }),
  "fs/remove": writeMethod({
    doc: "Removes a file, a link or a directory; without options it works like `rm -rf`.",
    lost: { repeatWith: "force", otherwise: "unknown" },
    extensionParams: ["noLinks"],
    params: () => ({
      path: PathUri(),
      recursive: nullableFlag("Default: true"),
      force: nullableFlag("Accept a missing path. Default: true"),
      followSymlinks: nullableFlag("Default: true; false requires `recursive` to be false"),
      noLinks: noLinks(),
      sandbox: sandbox(),
    }),
    result: Empty,
  }),
  "fs/copy": writeMethod({
    doc: "Copies a file, a link or a directory; existing files are replaced, existing directories merged.",
    lost: "unknown",
    params: () => ({
      sourcePath: PathUri(),
      destinationPath: PathUri(),
      recursive: z.boolean().describe("Must be true for a directory"),
      sandbox: sandbox(),
    }),
    result: Empty,
  }),
  "fs/watchMissing": readMethod({
    doc: "Requests one notification when a missing path appears. A connection has one such watch; a new one replaces it.",
    lost: "opened",
    answers: "eventually",
    params: () => ({
      watchId: Unsigned().describe("Must be higher than that of every earlier watch of the connection"),
      missing: z.array(PathUri()).describe("1 to 64 paths that do not exist"),
      present: optional(PathUri()).describe("An existing path to report when it is removed or changed"),
    }),
    result: () => ({
      watching: z.boolean().describe("False if there is nothing to wait for, or the path cannot be watched"),
    }),
  }),
};

export const fileNotifications = {
  "fs/missingChanged": notification({
    doc: "A watched path appeared, or the present one was removed or changed. The watch has ended.",
    from: "server",
    params: () => ({ watchId: Unsigned() }),
  }),
};

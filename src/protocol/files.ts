import * as z from "zod";
import { extensionField, method, notification, schema, type Infer } from "./define.ts";
import { Base64, Empty, FileMode, optional, PathUri, Unsigned } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

const sandbox = schema(() => optional(SandboxContext()));
const followSymlinks = schema(() =>
  optional(z.boolean()).describe("Default: true; false refuses a symbolic link anywhere in the path"),
);
export const noLinks = schema(() =>
  optional(z.boolean()).describe(
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

export const WalkOptions = schema(() =>
  z.object({
    maxDepth: Unsigned().describe("0 lists only the children of the root; at most 64"),
    maxDirectories: Unsigned().describe("1 to 10000; the root counts"),
    maxEntries: Unsigned().describe("1 to 50000; counts every name visited"),
    followDirectorySymlinks: z.boolean().describe("Enter linked directories, each real directory once"),
    pruneHiddenDirectories: z
      .boolean()
      .optional()
      .describe("List directories with a leading dot, but do not enter them"),
  }),
);
export type WalkOptions = Infer<typeof WalkOptions>;

export const fileMethods = {
  "fs/readFile": method({
    doc: "Returns a whole regular file; use `fs/open` for large files.",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "eventually",
    params: () => z.object({ path: PathUri(), followSymlinks: followSymlinks(), sandbox: sandbox() }),
    result: () => z.object({ dataBase64: Base64() }),
  }),
  "fs/open": method({
    doc: "Opens a file for `fs/readBlock` or `fs/writeBlock`; the handle lives as long as the connection.",
    family: "filesystem",
    right: "readFiles",
    lost: "opened",
    answers: "promptly",
    alsoNeeds: { param: "mode", is: "replace", right: "writeFiles" },
    extensionParams: ["noLinks"],
    params: () =>
      z.object({
        handleId: HandleId(),
        path: PathUri(),
        mode: z
          .enum(["read", "replace"])
          .optional()
          .describe("Default: `read`; `replace` creates the file or truncates it at once, in place"),
        noLinks: noLinks(),
        sandbox: sandbox(),
      }),
    result: () => z.object({ handleId: HandleId() }),
  }),
  "fs/readBlock": method({
    doc: "Reads a part of an open file.",
    family: "filesystem",
    right: "readFiles",
    lost: "ended",
    answers: "promptly",
    params: () =>
      z.object({
        handleId: HandleId(),
        offset: Unsigned().describe("In bytes"),
        len: Unsigned().describe("1 to 1048576 bytes"),
      }),
    result: () =>
      z.object({
        chunk: Base64(),
        eof: z
          .boolean()
          .describe(
            "Fewer than `len` bytes were read; false for a read that ends exactly at the end of the file",
          ),
      }),
  }),
  "fs/writeBlock": method({
    doc: "Writes a part of a file that was opened with `replace`; a hole reads as zeros.",
    family: "filesystem",
    right: "writeFiles",
    lost: "unknown",
    answers: "eventually",
    params: () =>
      z.object({
        handleId: HandleId(),
        offset: Unsigned().describe("In bytes"),
        chunk: Base64().describe("1 to 1048576 bytes in standard base64"),
      }),
    result: Empty,
  }),
  "fs/close": method({
    doc: "Closes a handle; an unknown id is not an error.",
    family: "filesystem",
    right: "readFiles",
    lost: "ended",
    answers: "promptly",
    lane: "control",
    params: () => z.object({ handleId: HandleId() }),
    result: Empty,
  }),
  "fs/writeFile": method({
    doc: "Creates or replaces a file; its directory must exist.",
    family: "filesystem",
    right: "writeFiles",
    lost: "repeat",
    answers: "eventually",
    extensionParams: ["mode", "noLinks"],
    params: () =>
      z.object({
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
  "fs/createDirectory": method({
    doc: "Creates a directory.",
    family: "filesystem",
    right: "writeFiles",
    lost: { repeatWith: "recursive", otherwise: "unknown" },
    answers: "promptly",
    params: () =>
      z.object({
        path: PathUri(),
        recursive: optional(z.boolean()).describe(
          "Also create parents, and accept an existing directory. Default: true",
        ),
        followSymlinks: followSymlinks(),
        sandbox: sandbox(),
      }),
    result: Empty,
  }),
  "fs/getMetadata": method({
    doc: "Returns metadata of a path.",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "promptly",
    extensionParams: ["includeMode"],
    params: () =>
      z.object({
        path: PathUri(),
        followSymlinks: followSymlinks(),
        includeMode: optional(z.boolean()).describe("True adds `mode` to the result"),
        sandbox: sandbox(),
      }),
    result: () =>
      z.object({
        isDirectory: z.boolean(),
        isFile: z.boolean().describe("A regular file; devices and pipes are neither file nor directory"),
        isSymlink: z.boolean().describe("The path itself is a link; the other members describe its target"),
        size: Unsigned().describe("In bytes"),
        createdAtMs: TimeMs().describe("Milliseconds since the epoch; 0 if the platform does not record it"),
        modifiedAtMs: TimeMs(),
        mode: extensionField(Unsigned().optional().describe("Permission bits; present with `includeMode`")),
      }),
  }),
  "fs/canonicalize": method({
    doc: "Resolves all symbolic links of an existing path.",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "promptly",
    params: () => z.object({ path: PathUri(), sandbox: sandbox() }),
    result: () => z.object({ path: PathUri() }),
  }),
  "fs/readDirectory": method({
    doc: "Lists a directory in no particular order, without broken links.",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "promptly",
    extensionParams: ["detailed"],
    params: () =>
      z.object({
        path: PathUri(),
        detailed: optional(z.boolean()).describe(
          "Describe the entries themselves: links, including broken ones, are listed as links, with neither type",
        ),
        sandbox: sandbox(),
      }),
    result: () =>
      z.object({
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
            }),
          )
          .describe("A link has the type of its target, unless the listing is `detailed`"),
      }),
  }),
  "fs/walk": method({
    doc: "Lists a tree level by level, sorted by name, without special files and links to files.",
    family: "filesystem",
    right: "readFiles",
    lost: "repeat",
    answers: "eventually",
    params: () => z.object({ path: PathUri(), options: WalkOptions(), sandbox: sandbox() }),
    result: () =>
      z.object({
        entries: z.array(z.object({ path: PathUri(), kind: z.enum(["directory", "file"]) })),
        errors: z
          .array(z.object({ path: PathUri(), message: z.string() }))
          .describe("Paths that could not be read"),
        truncated: z.boolean().describe("The walk stopped early at a limit"),
      }),
  }),
  "fs/remove": method({
    doc: "Removes a file, a link or a directory; without options it works like `rm -rf`.",
    family: "filesystem",
    right: "writeFiles",
    lost: { repeatWith: "force", otherwise: "unknown" },
    answers: "eventually",
    extensionParams: ["noLinks"],
    params: () =>
      z.object({
        path: PathUri(),
        recursive: optional(z.boolean()).describe("Default: true"),
        force: optional(z.boolean()).describe("Accept a missing path. Default: true"),
        followSymlinks: optional(z.boolean()).describe(
          "Default: true; false requires `recursive` to be false",
        ),
        noLinks: noLinks(),
        sandbox: sandbox(),
      }),
    result: Empty,
  }),
  "fs/copy": method({
    doc: "Copies a file, a link or a directory; existing files are replaced, existing directories merged.",
    family: "filesystem",
    right: "writeFiles",
    lost: "unknown",
    answers: "eventually",
    params: () =>
      z.object({
        sourcePath: PathUri(),
        destinationPath: PathUri(),
        recursive: z.boolean().describe("Must be true for a directory"),
        sandbox: sandbox(),
      }),
    result: Empty,
  }),
  "fs/watchMissing": method({
    doc: "Requests one notification when a missing path appears. A connection has one such watch; a new one replaces it.",
    family: "filesystem",
    right: "readFiles",
    lost: "opened",
    answers: "eventually",
    params: () =>
      z.object({
        watchId: Unsigned().describe("Must be higher than that of every earlier watch of the connection"),
        missing: z.array(PathUri()).describe("1 to 64 paths that do not exist"),
        present: optional(PathUri()).describe("An existing path to report when it is removed or changed"),
      }),
    result: () =>
      z.object({
        watching: z
          .boolean()
          .describe("False if there is nothing to wait for, or the path cannot be watched"),
      }),
  }),
};

export const fileNotifications = {
  "fs/missingChanged": notification({
    doc: "A watched path appeared, or the present one was removed or changed. The watch has ended.",
    from: "server",
    params: () => z.object({ watchId: Unsigned() }),
  }),
};

import * as z from "zod";
import { extensionField, method, notification, schema, type Infer } from "./define.ts";
import { Base64, Empty, FileMode, optional, PathUri, Unsigned } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

const sandbox = schema(() => optional(SandboxContext()));
const followSymlinks = schema(() =>
  optional(z.boolean()).describe("True when absent; false refuses a symbolic link anywhere in the path"),
);
const HandleId = schema(() =>
  z.string().describe("Chosen by the client, unique in its connection, at most 32 bytes"),
);
/** A member of an entry in a detailed listing. */
const detail = <T extends z.ZodType>(type: T) =>
  extensionField(type.optional().describe("Present with `detailed`"));
const TimeMs = schema(() => z.number().int().describe("Milliseconds since the epoch"));

export const WalkOptions = schema(() =>
  z.object({
    maxDepth: Unsigned().describe("0 lists only the children of the root; at most 64"),
    maxDirectories: Unsigned().describe("From 1, the root counts; at most 10000"),
    maxEntries: Unsigned().describe("From 1, counts every name looked at; at most 50000"),
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
    doc: "Returns a regular file whole; larger files are better read with `fs/open`.",
    family: "filesystem",
    params: () => z.object({ path: PathUri(), followSymlinks: followSymlinks(), sandbox: sandbox() }),
    result: () => z.object({ dataBase64: Base64() }),
  }),
  "fs/open": method({
    doc: "Opens a file for `fs/readBlock` or `fs/writeBlock`; the handle lives as long as the connection.",
    family: "filesystem",
    params: () =>
      z.object({
        handleId: HandleId(),
        path: PathUri(),
        mode: z
          .enum(["read", "replace"])
          .optional()
          .describe("`read` when absent; `replace` creates the file or empties it at once, in place"),
        sandbox: sandbox(),
      }),
    result: () => z.object({ handleId: HandleId() }),
  }),
  "fs/readBlock": method({
    doc: "Reads a part of an open file.",
    family: "filesystem",
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
          .describe("Fewer than `len` bytes came; a read that ends exactly at the end says false"),
      }),
  }),
  "fs/writeBlock": method({
    doc: "Writes a part of a file that was opened with `replace`; a hole reads as zeros.",
    family: "filesystem",
    params: () =>
      z.object({
        handleId: HandleId(),
        offset: Unsigned().describe("In bytes"),
        chunk: Base64().describe("1 to 1048576 bytes in standard base64"),
      }),
    result: Empty,
  }),
  "fs/close": method({
    doc: "Closes a handle; an unknown one is no error.",
    family: "filesystem",
    lane: "control",
    params: () => z.object({ handleId: HandleId() }),
    result: Empty,
  }),
  "fs/writeFile": method({
    doc: "Creates or replaces a file; its directory must exist.",
    family: "filesystem",
    extensionParams: ["mode"],
    params: () =>
      z.object({
        path: PathUri(),
        dataBase64: Base64(),
        followSymlinks: followSymlinks(),
        mode: optional(FileMode()).describe(
          "Permissions of the regular file, whatever the umask; when absent, a new file gets 0666 less the umask and an existing one keeps its own",
        ),
        sandbox: sandbox(),
      }),
    result: Empty,
  }),
  "fs/createDirectory": method({
    doc: "Creates a directory.",
    family: "filesystem",
    params: () =>
      z.object({
        path: PathUri(),
        recursive: optional(z.boolean()).describe("True when absent: parents too, and no error if it exists"),
        followSymlinks: followSymlinks(),
        sandbox: sandbox(),
      }),
    result: Empty,
  }),
  "fs/getMetadata": method({
    doc: "Describes what a path names.",
    family: "filesystem",
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
        createdAtMs: TimeMs().describe("Milliseconds since the epoch, 0 when the platform does not know"),
        modifiedAtMs: TimeMs(),
        mode: extensionField(Unsigned().optional().describe("Permission bits; present with `includeMode`")),
      }),
  }),
  "fs/canonicalize": method({
    doc: "Resolves every symbolic link of a path that exists.",
    family: "filesystem",
    params: () => z.object({ path: PathUri(), sandbox: sandbox() }),
    result: () => z.object({ path: PathUri() }),
  }),
  "fs/readDirectory": method({
    doc: "Lists a directory in no particular order, without broken links.",
    family: "filesystem",
    extensionParams: ["detailed"],
    params: () =>
      z.object({
        path: PathUri(),
        detailed: optional(z.boolean()).describe(
          "True describes the entries themselves: links are links, also broken ones, and have neither type",
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
            }),
          )
          .describe("A link has the type of its target, unless the listing is `detailed`"),
      }),
  }),
  "fs/walk": method({
    doc: "Lists a tree level by level, names in order, without special files and links to files.",
    family: "filesystem",
    params: () => z.object({ path: PathUri(), options: WalkOptions(), sandbox: sandbox() }),
    result: () =>
      z.object({
        entries: z.array(z.object({ path: PathUri(), kind: z.enum(["directory", "file"]) })),
        errors: z
          .array(z.object({ path: PathUri(), message: z.string() }))
          .describe("What could not be read"),
        truncated: z.boolean().describe("A limit ended the walk early"),
      }),
  }),
  "fs/remove": method({
    doc: "Removes a file, a link or a directory; without options it does what `rm -rf` does.",
    family: "filesystem",
    params: () =>
      z.object({
        path: PathUri(),
        recursive: optional(z.boolean()).describe("True when absent"),
        force: optional(z.boolean()).describe("True when absent: a missing path is no error"),
        followSymlinks: optional(z.boolean()).describe(
          "True when absent; false needs `recursive` to be false",
        ),
        sandbox: sandbox(),
      }),
    result: Empty,
  }),
  "fs/copy": method({
    doc: "Copies a file, a link or a directory; existing files are replaced, existing directories merged.",
    family: "filesystem",
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
    doc: "Asks to be told once when a path that does not exist appears; a connection has one such watch, the newest.",
    family: "filesystem",
    params: () =>
      z.object({
        watchId: Unsigned().describe("Must be higher than that of every earlier watch of the connection"),
        missing: z.array(PathUri()).describe("1 to 64 paths that do not exist"),
        present: optional(PathUri()).describe("A path that exists, to be told when it goes"),
      }),
    result: () =>
      z.object({
        watching: z
          .boolean()
          .describe("False when there is nothing to wait for, or the watch is not possible"),
      }),
  }),
};

export const fileNotifications = {
  "fs/missingChanged": notification({
    doc: "A watched path appeared, or the one that was present is gone: the watch is over.",
    from: "server",
    params: () => z.object({ watchId: Unsigned() }),
  }),
};

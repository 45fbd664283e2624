import { execFile } from "node:child_process";
import { linkSync, writeFileSync } from "node:fs";
import {
  chmod,
  constants,
  link as hardLink,
  mkdir,
  mkdtemp,
  open,
  realpath,
  rename,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { RawPeer } from "./raw-peer.ts";
import type { VerifyContext } from "./verifies.ts";

const execute = promisify(execFile);

type Maker = (path: string) => Promise<void>;

/** What a name stands for: a file by its contents, a directory by its names, anything else by how it is created. */
export type Entry = string | Uint8Array | Maker | { [name: string]: Entry };

/** A directory of one test, with no link in its path. */
export class TempTree {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  path(name = ""): string {
    return join(this.root, name);
  }

  uri(name = ""): string {
    return uriOf(this.path(name));
  }
}

export interface TreeContext extends VerifyContext {
  tree: TempTree;
  /** A connection that has done the handshake. */
  connection: RawPeer;
  /** Sends a request about one name of the tree. */
  // oxlint-disable-next-line typescript/no-explicit-any
  on: (method: string, name: string, more?: Record<string, unknown>) => Promise<any>;
}

/** The body of a test on its own tree, which is removed afterwards. */
export function onTree(
  entries: { [name: string]: Entry },
  body: (context: TreeContext) => Promise<void>,
): (context: VerifyContext) => Promise<void> {
  return async (context) => {
    const tree = new TempTree(await mkdtemp(join(await realpath(tmpdir()), "conformance-files-")));
    try {
      await build(tree.root, entries);
      const connection = await context.peer();
      const on: TreeContext["on"] = (method, name, more = {}) =>
        connection.request(method, { path: tree.uri(name), ...more });
      await body({ ...context, tree, connection, on });
    } finally {
      // Node's own removal fails on paths longer than the system takes, which some tests make.
      await execute("rm", ["-rf", "--", tree.root]);
    }
  };
}

function uriOf(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

export function link(target: string): Maker {
  return (path) => symlink(target, path);
}

/** Another name of a file that was made before it in the same directory. */
export function linkedTo(name: string): Maker {
  return (path) => hardLink(join(dirname(path), name), path);
}

export function fileOfMode(contents: string, mode: number): Maker {
  return async (path) => {
    await writeFile(path, contents);
    await chmod(path, mode);
  };
}

/** A named pipe that nothing has open. */
export async function fifo(path: string): Promise<void> {
  await execute("mkfifo", [path]);
}

/** How long a request may take that must not wait for the other end of a pipe, which never comes. */
export const AT_ONCE_MS = 15_000;

/** Releases a server that waits for the reader of a pipe. */
export async function releaseWriters(path: string): Promise<void> {
  await (await open(path, constants.O_RDONLY | constants.O_NONBLOCK)).close();
}

/** A socket without a listener. */
export async function socket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(`${path}~`, resolve);
  });
  // Closing removes the name that was listened to.
  await rename(`${path}~`, path);
  await new Promise((resolve) => server.close(resolve));
}

/** Makes a file with this many names, which is quicker than as many files. */
export function makeNames(directory: string, count: number): void {
  const first = join(directory, "0");
  writeFileSync(first, "");
  for (let index = 1; index < count; index += 1) linkSync(first, join(directory, String(index)));
}

async function build(directory: string, entries: { [name: string]: Entry }): Promise<void> {
  for (const [name, entry] of Object.entries(entries)) {
    const path = join(directory, name);
    if (typeof entry === "function") await entry(path);
    else if (typeof entry === "string" || entry instanceof Uint8Array) await writeFile(path, entry);
    else {
      await mkdir(path);
      await build(path, entry);
    }
  }
}

type Failure = readonly [code: number, message: string];

/** Errors of the system as the real server words them: its C library is musl. */
export const NOT_FOUND: Failure = [-32004, "No such file or directory (os error 2)"];
export const NOT_A_DIRECTORY: Failure = [-32603, "Not a directory (os error 20)"];
export const IS_A_DIRECTORY: Failure = [-32603, "Is a directory (os error 21)"];
export const EXISTS: Failure = [-32603, "File exists (os error 17)"];
export const NOT_EMPTY: Failure = [-32603, "Directory not empty (os error 39)"];
export const LINK_LOOP: Failure = [-32603, "Symbolic link loop (os error 40)"];
export const NAME_TOO_LONG: Failure = [-32603, "Filename too long (os error 36)"];
export const BAD_DESCRIPTOR: Failure = [-32603, "Bad file descriptor (os error 9)"];
export const NO_DEVICE: Failure = [-32603, "No such device or address (os error 6)"];

/** Errors in the server's own words. */
export const NOT_REGULAR: Failure = [-32600, "path is not a regular file"];
export const CONTAINS_LINK: Failure = [-32600, "path contains a symbolic link"];
export const NAMES_NO_ENTRY: Failure = [-32600, "path must name an entry"];

export const notAFile = (path: string): Failure => [-32600, `path \`${path}\` is not a file`];

/** A file name one byte longer than the system takes. */
export const LONG_NAME = "n".repeat(256);

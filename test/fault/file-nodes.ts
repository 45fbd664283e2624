import { createRequire } from "node:module";
import { libc as serverLibc } from "../../src/native/libc.ts";
import { type BytePath, onDisk } from "./byte-path.ts";

const S_IFIFO = 0o010000;
const S_IFSOCK = 0o140000;

const koffi = createRequire(import.meta.url)("koffi") as typeof import("koffi");
// It configures koffi, which is possible only before the first library is loaded.
serverLibc();
const libc = koffi.load(null);
const mknod = libc.func("int mknod(const void *path, unsigned int mode, unsigned long device)");
const setxattr = libc.func(
  "int setxattr(const void *path, const char *name, const void *value, size_t size, int flags)",
);
const getxattr = libc.func("long getxattr(const void *path, const char *name, void *value, size_t size)");

const cString = (path: BytePath): Buffer => Buffer.concat([onDisk(path), Buffer.alloc(1)]);

function makeNode(path: BytePath, mode: number): void {
  if (mknod(cString(path), mode, 0) !== 0) throw new Error(`mknod ${path}: errno ${koffi.errno()}`);
}

export const makeFifo = (path: BytePath): void => makeNode(path, S_IFIFO | 0o644);

/** Only the name of a socket, without a listener. */
export const makeSocket = (path: BytePath): void => makeNode(path, S_IFSOCK | 0o644);

/** False where the file system has no such attributes. */
export function setAttribute(path: BytePath, name: string, value: string): boolean {
  const bytes = Buffer.from(value);
  if (setxattr(cString(path), name, bytes, bytes.length, 0) === 0) return true;
  if (koffi.errno() === koffi.os.errno["ENOTSUP"] || koffi.errno() === koffi.os.errno["EOPNOTSUPP"])
    return false;
  throw new Error(`setxattr ${path}: errno ${koffi.errno()}`);
}

export function getAttribute(path: BytePath, name: string): string | undefined {
  const bytes = Buffer.alloc(1024);
  const length = getxattr(cString(path), name, bytes, bytes.length) as number;
  return length < 0 ? undefined : bytes.toString("utf8", 0, length);
}

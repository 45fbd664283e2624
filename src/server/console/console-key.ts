import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { messageOf, UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";

const KEY_BYTES = 32;
const OTHERS = 0o077;

/**
 * The key that seals browser sessions, read from its file when first needed. If the file is missing, it is created.
 * Without a usable file, the key lives as long as the server.
 */
export function consoleKey(path: string | undefined, logger: Logger): () => Buffer {
  let key: Buffer | undefined;
  return () => {
    key ??= (path === undefined ? undefined : readKey(path, logger)) ?? randomBytes(KEY_BYTES);
    return key;
  };
}

/**
 * Creates the key file if it is missing, because a sandbox hides only what exists when it starts. Failures are logged
 * when the key is needed, which may be never.
 */
export function prepareKey(path: string): void {
  if (existsSync(path)) return;
  try {
    create(path);
  } catch {}
}

function readKey(path: string, logger: Logger): Buffer | undefined {
  try {
    return read(path) ?? create(path);
  } catch (error) {
    logger.warn("the console's key cannot be used: browsers have to sign in again after a restart", {
      path,
      reason: messageOf(error),
    });
    return undefined;
  }
}

/** Undefined if the file does not exist. Anything else in its place is refused, and never waited for. */
function read(path: string): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(
      path,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    const bytes = Buffer.alloc(KEY_BYTES);
    if (!stats.isFile() || stats.size !== KEY_BYTES || readSync(fd, bytes) !== KEY_BYTES)
      throw new UsageError("it is not a file of 32 bytes; remove it");
    if (stats.uid !== process.geteuid?.()) throw new UsageError("it belongs to another user");
    if ((stats.mode & OTHERS) !== 0) throw new UsageError("it is open to other users; remove it");
    return bytes;
  } finally {
    closeSync(fd);
  }
}

/** Another server may make it at the same time: the first one to finish decides. */
function create(path: string): Buffer {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, randomBytes(KEY_BYTES), { mode: 0o600, flag: "wx", flush: true });
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const key = read(path);
  if (key === undefined) throw new UsageError("it was removed meanwhile");
  return key;
}

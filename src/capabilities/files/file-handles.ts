import { constants, fchmodSync, fstat, ftruncateSync, openSync, write } from "node:fs";
import { promisify } from "node:util";
import { CapabilityError } from "../../base/errors.ts";
import { partToWrite } from "../../base/part-to-write.ts";
import { BULK_BYTES, bulkBuffers } from "../bulk-buffers.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { SharedDescriptor } from "../../native/shared-descriptor.ts";
import { closeOnError } from "./clean-up.ts";
import { invalidInput } from "./file-error.ts";
import { openNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { fill, notAFile, openRegularFile } from "./read-file.ts";
import { dropSetId, NEW_FILE_MODE, openToWrite, WRITE_FLAGS } from "./writing.ts";

const statAsync = promisify(fstat);
const writeAsync = promisify(write);

const MAX_OPEN_HANDLES = 128;
const MAX_HANDLE_ID_BYTES = 32;
const MAX_BLOCK_BYTES = BULK_BYTES;
/** Below this size, fresh memory is as cheap as reused memory. */
const SMALL_BLOCK_BYTES = 64 * 1024;

/** An open file. It is closed only when unused, because the system reuses its descriptor number. */
class OpenFile extends SharedDescriptor {
  readonly isTrusted: boolean;

  constructor(fd: number, { isTrusted }: Location) {
    super(fd);
    this.isTrusted = isTrusted;
  }

  async use<T>(work: (fd: number) => Promise<T>): Promise<T> {
    this.share();
    try {
      return await work(this.fd);
    } finally {
      this.release();
    }
  }
}

const PRIVATE_MODE = 0o600;

/** Marks a file that is open in another process. */
const ELSEWHERE = Symbol("elsewhere");

/** The open files of one client, by the ids it chose. */
export class FileHandles {
  readonly #handles = new Map<string, OpenFile | typeof ELSEWHERE>();

  open(id: string, location: Location, mode: "read" | "replace"): void {
    this.#checkNew(id);
    const fd =
      mode === "read" ? openRegularFile(location, { followSymlinks: true }).fd : openForReplace(location);
    this.#handles.set(id, new OpenFile(fd, location));
  }

  /** Opens a file to continue it; see `openPartFile`. */
  openPart(id: string, location: Location, options: { length: number; isPrivate: boolean }): void {
    this.#checkNew(id);
    this.#handles.set(id, new OpenFile(openPartFile(location, options), location));
  }

  /** Takes the id of a file that is open in another process, until it is closed here. */
  reserve(id: string): void {
    this.#checkNew(id);
    this.#handles.set(id, ELSEWHERE);
  }

  /** Passes the data to `use`; it is not valid afterwards. A failed read closes the handle. */
  async read<T>(
    id: string,
    { offset, length }: { offset: number; length: number },
    use: (bytes: Buffer, eof: boolean) => T,
  ): Promise<T> {
    checkId(id);
    if (length < 1 || length > MAX_BLOCK_BYTES)
      throw invalidInput(`file read block length must be between 1 and ${MAX_BLOCK_BYTES}`);
    const file = this.#find(id);
    if (!Number.isSafeInteger(offset + length)) return use(Buffer.alloc(0), true);
    const whole = length < SMALL_BLOCK_BYTES ? undefined : bulkBuffers.take();
    const buffer = whole?.subarray(0, length) ?? Buffer.allocUnsafe(length);
    try {
      const filled = await file.use((fd) => fill(fd, buffer, offset));
      return use(buffer.subarray(0, filled), filled < length);
    } catch (error) {
      this.close(id);
      throw error;
    } finally {
      if (whole !== undefined) bulkBuffers.giveBack(whole);
    }
  }

  async write(id: string, offset: number, bytes: Uint8Array): Promise<void> {
    checkId(id);
    if (bytes.length < 1 || bytes.length > MAX_BLOCK_BYTES)
      throw invalidInput(`file write block length must be between 1 and ${MAX_BLOCK_BYTES}`);
    if (offset + bytes.length >= 2 ** 63)
      throw invalidInput("file write range exceeds the signed 64-bit file offset limit");
    const file = this.#find(id);
    // Beyond this, Node cannot represent the offset, and no file system supports it.
    if (!Number.isSafeInteger(offset + bytes.length)) throw osError(ERRNO.EFBIG);
    await file.use(async (fd) => {
      dropSetId(fd, file);
      const { skipped } = partToWrite(bytes);
      // Existing bytes must be overwritten, even with zeros.
      let written = skipped > 0 && (await statAsync(fd)).size <= offset ? skipped : 0;
      while (written < bytes.length) {
        const rest = bytes.length - written;
        written += (await writeAsync(fd, bytes, written, rest, offset + written)).bytesWritten;
      }
      dropSetId(fd, file);
    });
  }

  /** An unknown id is not an error. */
  close(id: string): void {
    checkId(id);
    const file = this.#handles.get(id);
    if (file !== ELSEWHERE) file?.release();
    this.#handles.delete(id);
  }

  closeAll(): void {
    for (const file of this.#handles.values()) if (file !== ELSEWHERE) file.release();
    this.#handles.clear();
  }

  #checkNew(id: string): void {
    checkId(id);
    if (this.#handles.has(id)) throw invalidInput(`file handle \`${id}\` already exists`);
    if (this.#handles.size >= MAX_OPEN_HANDLES)
      throw invalidInput(`at most ${MAX_OPEN_HANDLES} file handles may be open per connection`);
  }

  #find(id: string): OpenFile {
    const file = this.#handles.get(id);
    if (file === undefined || file === ELSEWHERE)
      throw new CapabilityError("NOT_FOUND", `unknown file handle \`${id}\``);
    return file;
  }
}

function checkId(id: string): void {
  if (Buffer.byteLength(id) > MAX_HANDLE_ID_BYTES)
    throw invalidInput(`file handle ID must not exceed ${MAX_HANDLE_ID_BYTES} bytes`);
}

/** Truncates the file at once and in place: written data is visible before the handle is closed. */
function openForReplace(location: Location): number {
  const { path, followSymlinks } = location.check({ followSymlinks: true });
  const open = followSymlinks ? openSync : openNoFollow;
  const { fd, stat } = openToWrite(location, path, (at) => open(at, WRITE_FLAGS, NEW_FILE_MODE));
  return closeOnError(fd, () => {
    if (!stat.isFile()) throw notAFile(path);
    ftruncateSync(fd);
    return fd;
  });
}

/**
 * Opens a file that grows to its full length over several connections, and keeps its first `length` bytes. The name of
 * such a file can be guessed, so whatever another user may have put in its place is refused: a link, a file of theirs,
 * and one with a second name.
 */
export function openPartFile(
  location: Location,
  { length, isPrivate }: { length: number; isPrivate: boolean },
): number {
  const mode = isPrivate ? PRIVATE_MODE : NEW_FILE_MODE;
  const { fd, stat } = location.onEntry((entry) =>
    openToWrite(location, entry, (path) => openSync(path, WRITE_FLAGS | constants.O_NOFOLLOW, mode)),
  );
  return closeOnError(fd, () => {
    if (!stat.isFile() || stat.nlink !== 1 || stat.uid !== process.geteuid?.())
      throw invalidInput(`\`${location.shown}\` is not exclusively this user's file, so it is not resumed`);
    if (stat.size < length)
      throw invalidInput(`\`${location.shown}\` has ${stat.size} bytes, fewer than the ${length} to keep`);
    if (isPrivate) fchmodSync(fd, PRIVATE_MODE);
    ftruncateSync(fd, length);
    return fd;
  });
}

import { base64Param } from "../../base/base64-bytes.ts";
import { ConnectionError, ProtocolError, RpcError, UsageError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { abortable } from "../../base/deadlines.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { type BorrowedBytes, borrowBytes, keepBytes } from "../calls/wire-bytes.ts";

/** Maximum number of bytes per request. */
export const BLOCK_BYTES = 1024 * 1024;
/** Concurrent requests: enough to keep a connection busy, while limiting memory. */
const BLOCKS_AHEAD = 4;

/** A file that is open on the server. It is closed with the connection it was opened on. */
export interface FileHandle {
  readonly id: string;
  readonly path: string;
}

/** How a file is opened: to read it, to replace it, or to continue it after its first bytes. */
export type OpenMode = "read" | "replace" | { readonly keep: number; readonly isPrivate: boolean };

/** Opens a file. Waits for the answer even if the caller has aborted, because an open file must be closed. */
export async function openHandle(
  caller: Caller,
  handle: FileHandle & { readonly uri: string; readonly mode: OpenMode },
  { signal }: RequestOptions,
): Promise<void> {
  signal?.throwIfAborted();
  const opening = requestHandle(caller, { handleId: handle.id, path: handle.uri }, handle.mode);
  try {
    const { handleId } = await abortable(opening, signal);
    if (handleId !== handle.id)
      throw new ProtocolError(`fs/open ${handle.path}: the server opened a different handle`);
  } catch (error) {
    opening.then(
      () => closeHandle(caller, handle),
      () => {}, // If so, nothing is open.
    );
    throw error;
  }
}

function requestHandle(
  caller: Caller,
  target: { readonly handleId: string; readonly path: string },
  mode: OpenMode,
): Promise<{ handleId: string }> {
  if (typeof mode === "object")
    return caller.request("fs/openPart", { ...target, length: mode.keep, private: mode.isPrivate });
  // `read` is the default, and not every server knows the member.
  return caller.request("fs/open", { ...target, ...(mode === "read" ? {} : { mode }) });
}

/** The answer is not awaited: it says nothing, and later requests are processed after it. */
export function closeHandle(caller: Caller, handle: FileHandle): void {
  caller.request("fs/close", { handleId: handle.id }).catch(() => {}); // The connection is gone, and the handle with it.
}

/**
 * Reads an open file from `offset`, a few blocks ahead of the consumer, until a block is short or `length` bytes are
 * read. Unless blocks are owned, a block's memory is reused once the next one is requested.
 */
export async function* readBlocks(
  caller: Caller,
  handle: FileHandle,
  options: RequestOptions & { readonly offset: number; readonly length?: number; readonly isOwned: boolean },
): AsyncGenerator<Uint8Array, void, undefined> {
  const underWay = new Fifo<Promise<BorrowedBytes>>();
  let { offset } = options;
  const end = offset + (options.length ?? Infinity);
  const ask = (): boolean => {
    const len = Math.min(BLOCK_BYTES, end - offset);
    if (len === 0) return false;
    const block = readBlock(caller, handle, { offset, len }, options);
    block.catch(() => {}); // Reported when its turn comes, unless the reader has left.
    underWay.push(block);
    offset += len;
    return true;
  };
  // Most files end in their first block, so read ahead only after it.
  ask();
  for (let next = underWay.shift(); next !== undefined; next = underWay.shift()) {
    const block = await next;
    const { length } = block.bytes;
    for (let more = length === BLOCK_BYTES; more && underWay.size < BLOCKS_AHEAD; ) more = ask();
    if (length > 0) yield options.isOwned ? keepBytes(block) : block.bytes;
    if (!options.isOwned) block.release?.();
    if (length < BLOCK_BYTES) return;
  }
}

async function readBlock(
  caller: Caller,
  handle: FileHandle,
  { offset, len }: { readonly offset: number; readonly len: number },
  options: RequestOptions,
): Promise<BorrowedBytes> {
  const params = { handleId: handle.id, offset, len };
  const { chunk, eof } = await caller
    .request("fs/readBlock", params, options)
    .catch((error) => Promise.reject(blockError(error, handle)));
  const block = borrowBytes(chunk, "the answer to fs/readBlock");
  const { length } = block.bytes;
  if (length > len || eof !== length < len)
    throw new ProtocolError(`fs/readBlock ${handle.path}: ${length} of ${len} bytes came with eof ${eof}`);
  return block;
}

/**
 * Writes pieces of any size into an open file from `start` on, a few blocks ahead of the server's answers; returns the
 * offset of their end.
 */
export async function writeBlocks(
  caller: Caller,
  handle: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { start, ...options }: RequestOptions & { readonly start: number },
): Promise<number> {
  const underWay = new Fifo<Promise<unknown>>();
  // One block that is being filled, and those in transit.
  const blocks = Array.from({ length: BLOCKS_AHEAD + 1 }, () => new Uint8Array(BLOCK_BYTES));
  let current = 0;
  let filled = 0;
  let offset = start;
  const flush = async (): Promise<void> => {
    if (filled === 0) return;
    if (underWay.size >= BLOCKS_AHEAD) await underWay.shift();
    const params = { handleId: handle.id, offset, chunk: base64Param(blocks[current]!.subarray(0, filled)) };
    const written = caller
      .request("fs/writeBlock", params, options)
      .catch((error) => Promise.reject(blockError(error, handle)));
    written.catch(() => {}); // Reported when its turn comes.
    underWay.push(written);
    offset += filled;
    filled = 0;
    current = (current + 1) % blocks.length;
  };
  for await (const piece of source) {
    for (let taken = 0; taken < piece.length; ) {
      const part = piece.subarray(taken, taken + BLOCK_BYTES - filled);
      blocks[current]!.set(part, filled);
      filled += part.length;
      taken += part.length;
      if (filled === BLOCK_BYTES) await flush();
    }
  }
  await flush();
  for (let next = underWay.shift(); next !== undefined; next = underWay.shift()) await next;
  return offset;
}

/** Pieces of any iterable. A slow source does not delay an abort. */
export async function* piecesOf(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { signal }: RequestOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const iterator =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let exhausted = false;
  try {
    for (;;) {
      const { done, value } = await abortable(Promise.resolve(iterator.next()), signal);
      exhausted = done === true;
      if (exhausted) return;
      if (!(value instanceof Uint8Array))
        throw new UsageError(`a file stream must yield Uint8Array chunks, not ${typeof value}`);
      yield value;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    // Not awaited: a generator that hangs would never return.
    if (!exhausted) void Promise.resolve(iterator.return?.()).catch(() => {}); // The first failure is the one to report.
  }
}

/** An unknown handle was lost with its connection; the file itself may well exist. */
function blockError(error: unknown, handle: FileHandle): unknown {
  const isLost =
    error instanceof RpcError &&
    error.rpcCode === RpcCode.notFound &&
    error.message.startsWith("unknown file handle");
  if (!isLost) return error;
  return new ConnectionError(`the connection was lost while ${handle.path} was open`, { cause: error });
}

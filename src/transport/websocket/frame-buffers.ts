/** Memory is kept this long after its last use. */
const KEEP_MS = 10_000;
const MIB = 1024 * 1024;

/** Memory for the next frame. One is enough: a connection sends its frames one after another. */
let spare: Buffer | undefined;
let keepUntil = 0;
let isWatched = false;
/**
 * Views that were handed out, with their whole buffer. Each view is handed out once, so it cannot be returned twice.
 */
const lent = new WeakMap<Uint8Array, Buffer>();

/**
 * Memory for a long frame. Fresh memory would make V8 run a full garbage collection every few frames, which takes
 * longer than everything else done with them. Return a frame when done; otherwise it is garbage collected as usual.
 */
export function takeFrameBuffer(length: number): Buffer {
  const buffer =
    spare !== undefined && spare.length >= length
      ? spare
      : Buffer.allocUnsafeSlow(Math.ceil(length / MIB) * MIB);
  spare = undefined;
  const view = buffer.subarray(0, length);
  lent.set(view, buffer);
  return view;
}

/** The caller must not use the bytes afterwards. Bytes that were not taken from here are ignored. */
export function giveBackFrameBuffer(bytes: Uint8Array): void {
  const whole = lent.get(bytes);
  if (whole === undefined) return;
  lent.delete(bytes);
  spare = whole;
  keepUntil = performance.now() + KEEP_MS;
  if (!isWatched) watch(KEEP_MS);
}

function watch(delayMs: number): void {
  isWatched = true;
  setTimeout(() => {
    isWatched = false;
    const left = keepUntil - performance.now();
    if (left > 0) watch(left);
    else spare = undefined;
  }, delayMs).unref();
}

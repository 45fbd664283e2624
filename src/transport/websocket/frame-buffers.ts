/** Memory is kept this long after its last use. */
const KEEP_MS = 10_000;
const MIB = 1024 * 1024;

/** What may be used for the next frame. One is enough: a connection sends its frames one after another. */
let spare: Buffer | undefined;
let keepUntil = 0;
let isWatched = false;
/** What was handed out, and the whole that it is a part of. Each view is handed out once, so it cannot be given back twice. */
const lent = new WeakMap<Uint8Array, Buffer>();

/**
 * Memory for a long frame. Fresh memory would make V8 collect all garbage after every few frames, which takes longer than all else that is done with them.
 * Whoever is done with a frame gives it back; if nobody does, it is garbage like any other.
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

/** Nobody may look at the bytes any more. Those that were not taken from here are left alone. */
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

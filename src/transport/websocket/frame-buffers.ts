/** Memory is kept this long after its last use. */
const KEEP_MS = 10_000;
const MIB = 1024 * 1024;

/** Several buffers are kept up to this size, for the blocks of a file that one peer sends ahead; one of any size is. */
const MAX_KEPT_BYTES = 16 * MIB;

/** Memory for the next frames, the most recently used last. */
const spare: Buffer[] = [];
let keptBytes = 0;
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
  const buffer = takeSpare(length) ?? Buffer.allocUnsafeSlow(Math.ceil(length / MIB) * MIB);
  const view = buffer.subarray(0, length);
  lent.set(view, buffer);
  return view;
}

/** The caller must not use the bytes afterwards. Bytes that were not taken from here are ignored. */
export function giveBackFrameBuffer(bytes: Uint8Array): void {
  const whole = lent.get(bytes);
  if (whole === undefined) return;
  lent.delete(bytes);
  spare.push(whole);
  keptBytes += whole.length;
  while (keptBytes > MAX_KEPT_BYTES && spare.length > 1) keptBytes -= spare.shift()!.length;
  keepUntil = performance.now() + KEEP_MS;
  if (!isWatched) watch(KEEP_MS);
}

function takeSpare(length: number): Buffer | undefined {
  const fitting = spare.findLastIndex((buffer) => buffer.length >= length);
  if (fitting < 0) return undefined;
  const [buffer] = spare.splice(fitting, 1);
  keptBytes -= buffer!.length;
  return buffer;
}

function watch(delayMs: number): void {
  isWatched = true;
  setTimeout(() => {
    isWatched = false;
    const left = keepUntil - performance.now();
    if (left > 0) {
      watch(left);
      return;
    }
    spare.length = 0;
    keptBytes = 0;
  }, delayMs).unref();
}

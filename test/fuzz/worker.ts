import { parentPort, workerData } from "node:worker_threads";
import { failureOf, Fuzzer } from "./fuzzer.ts";
import type { Target } from "./target.ts";

/** What `scripts/fuzz.mjs` wants to be done. */
interface Job {
  readonly seed: number;
  readonly corpus: readonly Uint8Array[];
  readonly literals: readonly string[];
  readonly cases?: number;
  readonly milliseconds?: number;
  /** Only this input. */
  readonly replay?: Uint8Array;
  /** The current input: how many there were, its length, its bytes. */
  readonly current: SharedArrayBuffer;
}

const HEAD_BYTES = 8;
const CHECK_EVERY = 64;

const report = (message: object): void => parentPort!.postMessage(message, []);

/** Fuzzes one target in a worker, whose owner sees the current input even if it never ends. */
export async function work(target: Target): Promise<void> {
  const job = workerData as Job;
  const head = new Int32Array(job.current, 0, 2);
  const bytes = new Uint8Array(job.current, HEAD_BYTES);
  const begin = (input: Buffer): void => {
    bytes.set(input.subarray(0, bytes.length));
    Atomics.store(head, 1, input.length);
    Atomics.add(head, 0, 1);
  };
  if (job.replay !== undefined) {
    const input = Buffer.from(job.replay);
    begin(input);
    const message = await failureOf(target, input);
    report({ cases: 1, ...(message === undefined ? {} : { find: { input, message } }) });
    return;
  }
  const end = performance.now() + (job.milliseconds ?? Number.POSITIVE_INFINITY);
  const fuzzer = new Fuzzer(target, {
    ...job,
    begin,
    keep: (input) => report({ kept: input }),
    isOver: (cases) =>
      cases >= (job.cases ?? Number.POSITIVE_INFINITY) ||
      (cases % CHECK_EVERY === 0 && performance.now() >= end),
  });
  report(await fuzzer.run());
}

import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import type { ServerLimits } from "../settings/limits.ts";
import { writeInput, writeWithoutId } from "./process-write.ts";

const MIB = 1024 * 1024;
const LIMITS = { maxUnreadInputBytes: 2 * MIB } as ServerLimits;

/** A process that reads on demand. */
function createReader(options: { killed?: boolean; closed?: boolean } = {}) {
  const unread: (() => void)[] = [];
  const input = {
    queuedBytes: 0,
    write: (bytes: Uint8Array, read: () => void) => {
      input.queuedBytes += bytes.length;
      unread.push(read);
    },
  };
  const process = { killed: options.killed ?? false, input: options.closed ? undefined : input };
  return { process: process as unknown as ManagedProcess, input, read: () => unread.shift()!() };
}

it("a write is answered at once as long as little is unread, and else once it has been read", async () => {
  const { process, read } = createReader();
  expect(writeInput(process, new Uint8Array(MIB - 1), LIMITS)).toBeUndefined();
  const slow = writeInput(process, new Uint8Array(1), LIMITS);
  let answered = false;
  void slow?.then(() => {
    answered = true;
  });
  read();
  await turn();
  expect(answered).toBe(false);
  read();
  await turn();
  expect(answered).toBe(true);
});

it("all of a write is taken, or nothing of it", () => {
  const { process, input } = createReader();
  void writeInput(process, new Uint8Array(2 * MIB), LIMITS);
  expect(() => writeInput(process, new Uint8Array(1), LIMITS)).toThrow(
    `the process has not read ${2 * MIB} bytes of input, and these are 1 more`,
  );
  expect(input.queuedBytes).toBe(2 * MIB);
});

it.each([{ killed: true }, { closed: true }])(
  "a process that takes no input is not written to: %j",
  (options) => {
    const { process, input } = createReader(options);
    expect(() => writeInput(process, new Uint8Array(1), LIMITS)).toThrow("failed to write to process stdin");
    expect(input.queuedBytes).toBe(0);
  },
);

it("a write without an id is accepted, and those who share the process learn who typed", async () => {
  const { process, read } = createReader();
  let typed = 0;
  const entry = { process, typed: () => (typed += 1) };
  const write = (bytes: number) =>
    writeWithoutId(entry, { processId: "p", bytes: new Uint8Array(bytes) }, LIMITS);
  const accepted = { status: "accepted", accepted: true };
  expect(write(1)).toEqual(accepted);
  const slow = write(MIB);
  expect(slow).toBeInstanceOf(DeferredAnswer);
  read();
  read();
  expect(await (slow as DeferredAnswer<unknown>).promise).toEqual(accepted);
  expect(typed).toBe(2);
});

it("a write without an id to an unknown process, or one without input, is an error", () => {
  const bytes = new Uint8Array(1);
  expect(() => writeWithoutId(undefined, { processId: "p", bytes }, LIMITS)).toThrow("unknown process id p");
  const entry = { process: createReader({ closed: true }).process };
  expect(() => writeWithoutId(entry, { processId: "p", bytes }, LIMITS)).toThrow(
    "stdin is closed for process p",
  );
});

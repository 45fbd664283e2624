import { closeSync, fstatSync, readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { openSocketPair, receiveDescriptors } from "./descriptor-passing.ts";
import { libc } from "./libc.ts";
import { openPipe } from "./spawn.ts";

const opened = new Set<number>();
afterEach(() => {
  for (const fd of opened) closeSync(fd);
  opened.clear();
});

function createPair(): { own: number; childs: number } {
  const pair = openSocketPair();
  opened.add(pair.own).add(pair.childs);
  return pair;
}

function createPipe(): number {
  const { readEnd, writeEnd } = openPipe();
  opened.add(readEnd).add(writeEnd);
  return readEnd;
}

function close(fd: number): void {
  opened.delete(fd);
  closeSync(fd);
}

/** What the other side does. */
function send(socket: number, descriptors: readonly number[]): void {
  const control = Buffer.alloc(descriptors.length === 0 ? 0 : 16 + Math.ceil(descriptors.length / 2) * 8);
  if (control.length > 0) {
    control.writeBigUInt64LE(BigInt(16 + descriptors.length * 4), 0);
    control.writeInt32LE(1, 8);
    control.writeInt32LE(1, 12);
  }
  for (const [index, fd] of descriptors.entries()) control.writeInt32LE(fd, 16 + index * 4);
  const sent = libc().sendMessage(socket, Buffer.alloc(1), control, 0);
  expect(sent).toBe(1);
}

function options(timeoutMs = 10_000): { timeoutMs: number; signal: AbortSignal } {
  return { timeoutMs, signal: new AbortController().signal };
}

it.each([1, 2, 3])("receives %i descriptors in order, closed in children", async (count) => {
  const { own, childs } = createPair();
  const sent = Array.from({ length: count }, createPipe);
  const receiving = receiveDescriptors(own, count, options());
  send(childs, sent);
  const received = await receiving;
  for (const fd of received) opened.add(fd);
  expect(received.map((fd) => fstatSync(fd).ino)).toEqual(sent.map((fd) => fstatSync(fd).ino));
  for (const fd of received) {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    expect(Number.parseInt(flags!, 8) & 0o2000000).not.toBe(0);
  }
});

it("fails when the other side closes without a message", async () => {
  const { own, childs } = createPair();
  const receiving = receiveDescriptors(own, 1, options());
  close(childs);
  await expect(receiving).rejects.toThrow("the other side has closed");
});

it.each([
  { sent: 0, expected: 1 },
  { sent: 1, expected: 2 },
  { sent: 3, expected: 1 },
])("takes no $sent descriptors for $expected, and keeps none open", async ({ sent, expected }) => {
  const { own, childs } = createPair();
  const before = createPipe();
  close(before);
  send(
    childs,
    Array.from({ length: sent }, () => 0),
  );
  await expect(receiveDescriptors(own, expected, options())).rejects.toThrow(/descriptors were expected/);
  expect(() => fstatSync(before)).toThrow("EBADF");
});

it("fails after the time-out, and when it is aborted", async () => {
  const { own } = createPair();
  await expect(receiveDescriptors(own, 1, options(5))).rejects.toThrow("it took too long");
  await expect(
    receiveDescriptors(own, 1, { timeoutMs: 10_000, signal: AbortSignal.abort() }),
  ).rejects.toThrow("the wait was ended");
});

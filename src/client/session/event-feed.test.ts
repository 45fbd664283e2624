import { expect, test, vi } from "vitest";
import type { ProcessEvent } from "../routes/process-events.ts";
import { EventFeed, type HostEvent } from "./event-feed.ts";

const MIB = 1024 * 1024;

test("a reader gets the events of all processes in order, also those that come while it waits", async () => {
  const { feed } = open();
  feed.push("a", output(1));
  feed.push("b", output(2));
  expect([await feed.next(), await feed.next()]).toEqual([read("a", 1), read("b", 2)]);
  const next = feed.next();
  feed.push("a", output(3));
  expect(await next).toEqual(read("a", 3));
});

test("65536 events may be unread; beyond that the oldest are dropped, which the reader learns once", async () => {
  const { feed } = open();
  for (let seq = 1; seq <= 65_536; seq += 1) feed.push("p", output(seq));
  expect(await feed.next()).toEqual(read("p", 1));
  for (let seq = 65_537; seq <= 65_540; seq += 1) feed.push("p", output(seq));
  expect([await feed.next(), await feed.next()]).toEqual([
    { done: false, value: { kind: "lagged", events: 3 } },
    read("p", 5),
  ]);
});

test("16 MiB may be unread, and what was read makes room", async () => {
  const { feed } = open();
  const pushTo = (last: number): void => {
    for (let seq = pushed + 1; seq <= last; seq += 1) feed.push("p", output(seq, MIB));
    pushed = last;
  };
  let pushed = 0;
  pushTo(15);
  for (let seq = 1; seq <= 14; seq += 1) expect(await seqOf(feed)).toBe(seq);
  pushTo(29);
  expect(await seqOf(feed)).toBe(15);
  pushTo(45);
  const { value } = (await feed.next()) as { value: { kind: string; events: number } };
  expect(value).toEqual({ kind: "lagged", events: 14 });
  expect(await seqOf(feed)).toBe(30);
});

test("after the end, what is unread can be read, and nothing comes any more", async () => {
  const { feed, left } = open();
  feed.push("p", output(1));
  feed.end();
  feed.push("p", output(2));
  expect(left).toHaveBeenCalledExactlyOnceWith(feed);
  expect([await feed.next(), await feed.next()]).toEqual([read("p", 1), { done: true, value: undefined }]);
  feed.end();
  await feed.return();
  expect(left).toHaveBeenCalledOnce();
});

test("the end wakes a reader that waits", async () => {
  const { feed } = open();
  const next = feed.next();
  feed.end();
  expect(await next).toEqual({ done: true, value: undefined });
});

test("a reader that leaves reads nothing more", async () => {
  const { feed, left } = open();
  for (let seq = 1; seq <= 65_537; seq += 1) feed.push("p", output(seq));
  expect(await feed.return()).toEqual({ done: true, value: undefined });
  expect(left).toHaveBeenCalledOnce();
  expect(await feed.next()).toEqual({ done: true, value: undefined });
});

test("a signal ends the reading with its reason, also while it waits", async () => {
  const controller = new AbortController();
  const { feed, left } = open(controller.signal);
  feed.push("p", output(1));
  await feed.next();
  const next = feed.next();
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(next).rejects.toBe(reason);
  expect(left).toHaveBeenCalledOnce();
  await expect(feed.next()).rejects.toBe(reason);
});

test("the feed is its own iterator", async () => {
  const { feed } = open();
  feed.push("p", output(1));
  feed.end();
  const seen: HostEvent[] = [];
  for await (const event of feed) seen.push(event);
  expect(seen).toHaveLength(1);
});

test("a signal is not listened to after the end", () => {
  const { signal } = new AbortController();
  const remove = vi.spyOn(signal, "removeEventListener");
  const add = vi.spyOn(signal, "addEventListener");
  const { feed } = open(signal);
  feed.end();
  expect(remove).toHaveBeenCalledWith("abort", add.mock.calls[0]![1]);
});

function open(signal?: AbortSignal) {
  const left = vi.fn();
  return { feed: new EventFeed(signal, left), left };
}

function output(seq: number, bytes = 1): ProcessEvent {
  return { kind: "output", seq, stream: "stdout", bytes: new Uint8Array(bytes) };
}

async function seqOf(feed: EventFeed): Promise<unknown> {
  const { value } = (await feed.next()) as { value: { seq?: number } };
  return value.seq;
}

function read(processId: string, seq: number): IteratorResult<HostEvent> {
  return { done: false, value: { ...output(seq), processId } };
}

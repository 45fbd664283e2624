import { beforeEach, describe, expect, test } from "vitest";
import { StreamPair } from "../../test/relay/stream-pair.ts";
import { WINDOW_BYTES } from "./relay-stream.ts";

const RECORD_BYTES = 64 * 1024;
const MESSAGE = "x".repeat(100_000);
const COUNT = 100;

let pair: StreamPair;

beforeEach(() => {
  pair = new StreamPair();
});

const sendAll = (): void => {
  for (let count = 0; count < COUNT; count += 1) pair.executor.stream.send(MESSAGE);
};

describe("between ends that acknowledge what they take", () => {
  beforeEach(() => {
    pair.client.stream.offerAcks();
    pair.exchange();
  });

  test("a sender is at most a window ahead of a reader that has stopped", () => {
    pair.client.stream.pause();
    sendAll();
    const bytes = pair.exchange();
    expect(bytes).toBeGreaterThan(WINDOW_BYTES - RECORD_BYTES);
    expect(bytes).toBeLessThan(WINDOW_BYTES + RECORD_BYTES);
    expect(pair.executor.stream.queuedBytes).toBeGreaterThan(COUNT * MESSAGE.length - bytes - RECORD_BYTES);
    expect(pair.exchange()).toBe(0);
  });

  test("everything arrives as it reads on", () => {
    pair.client.stream.pause();
    sendAll();
    pair.exchange();
    pair.client.stream.resume();
    pair.exchange();
    expect(pair.client.seen.messages).toEqual(Array.from({ length: COUNT }, () => MESSAGE));
    expect(pair.executor.stream.queuedBytes).toBe(0);
  });

  test("the other direction has a window of its own", () => {
    pair.executor.stream.pause();
    for (let count = 0; count < COUNT; count += 1) pair.client.stream.send(MESSAGE);
    pair.exchange();
    expect(pair.client.stream.queuedBytes).toBeGreaterThan(COUNT * MESSAGE.length - 2 * WINDOW_BYTES);
    pair.executor.stream.resume();
    pair.exchange();
    expect(pair.executor.seen.messages).toHaveLength(COUNT);
  });

  test("what is left when a stream closes does not wait", () => {
    pair.client.stream.pause();
    sendAll();
    pair.executor.stream.close();
    pair.exchange();
    expect(pair.executor.stream.queuedBytes).toBe(0);
  });

  test.each([0, 5, 2 ** 32 - 1])("an acknowledgement of %i records that is a lie does no harm", (count) => {
    pair.client.stream.pause();
    sendAll();
    for (let lies = 0; lies < 200; lies += 1) {
      pair.exchange();
      pair.executor.stream.receiveAck(count);
    }
    pair.client.stream.resume();
    pair.exchange();
    expect(pair.client.seen.messages).toHaveLength(COUNT);
  });
});

test("an end that acknowledges nothing, as Codex's, gets everything at once, and is told nothing", () => {
  pair.client.stream.pause();
  sendAll();
  expect(pair.exchange()).toBeGreaterThan(COUNT * MESSAGE.length);
  pair.client.stream.resume();
  expect(pair.client.frames()).toEqual([]);
});

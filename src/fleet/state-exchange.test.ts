import { expect, test } from "vitest";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import { FrameKind, HEADER_BYTES, numberedFrame, readState } from "./frames.ts";
import { Incoming, WINDOW_BYTES } from "./incoming.ts";
import { Outgoing } from "./outgoing.ts";
import { StateExchange } from "./state-exchange.ts";

const wait = useMovedClock();
/** Progress that is sent at once. */
const MUCH = WINDOW_BYTES / 8;

test("a little progress is reported after 25 ms, once, and much of it at once", async () => {
  const { exchange, receive, states } = open();
  receive(1);
  exchange.sendSoon();
  receive(1);
  exchange.sendSoon();
  await wait(24);
  expect(states).toEqual([]);
  await wait(1);
  expect(states).toMatchObject([{ received: 2 * (HEADER_BYTES + 1), resend: false, ask: false }]);
  exchange.sendSoon();
  await wait(1_000);
  expect(states).toHaveLength(1);
  receive(MUCH - HEADER_BYTES);
  exchange.sendSoon();
  expect(states).toHaveLength(2);
  receive(MUCH - HEADER_BYTES - 1);
  exchange.sendSoon();
  expect(states).toHaveLength(2);
});

test("the room that a reader makes is reported like progress", () => {
  const { exchange, incoming, receive, states } = open();
  incoming.pause();
  receive(MUCH - HEADER_BYTES);
  exchange.sendSoon();
  expect(states).toMatchObject([{ received: MUCH, limit: WINDOW_BYTES }]);
  incoming.resume();
  exchange.sendSoon();
  expect(states[1]).toMatchObject({ received: MUCH, limit: WINDOW_BYTES + MUCH });
});

test("progress that a frame carried is not reported again", async () => {
  const { exchange, receive, states } = open();
  receive(1);
  expect(exchange.reportProgress()).toMatchObject({ received: HEADER_BYTES + 1 });
  exchange.sendSoon();
  await wait(1_000);
  expect(states).toEqual([]);
});

test("the frames of a gap are asked for once in a quarter of a second, those of another at once", async () => {
  const { exchange, receive, states } = open();
  exchange.askToResend();
  await wait(249);
  exchange.askToResend();
  expect(states).toMatchObject([{ received: 0, resend: true, ask: false }]);
  await wait(1);
  exchange.askToResend();
  expect(states).toHaveLength(2);
  receive(1);
  exchange.askToResend();
  expect(states[2]).toMatchObject({ received: HEADER_BYTES + 1, resend: true });
});

test("everything is sent again once in a quarter of a second, however often the peer wants it", async () => {
  const { exchange, outgoing, frames } = open();
  outgoing.send("x");
  exchange.resend();
  expect(frames).toHaveLength(2);
  await wait(249);
  exchange.resend();
  exchange.resend();
  expect(frames).toHaveLength(2);
  await wait(1);
  expect(frames).toHaveLength(3);
  await wait(1_000);
  expect(frames).toHaveLength(3);
  exchange.resend();
  expect(frames).toHaveLength(4);
});

test("a peer that acknowledges nothing is asked every half a second", async () => {
  const { exchange, outgoing, states } = open();
  outgoing.send("x");
  exchange.expectAcknowledgement();
  exchange.expectAcknowledgement();
  await wait(500);
  // The first look only remembers how far it was.
  expect(states).toEqual([]);
  await wait(500);
  expect(states).toMatchObject([{ sent: HEADER_BYTES + 1, resend: false, ask: true }]);
  await wait(500);
  expect(states).toHaveLength(2);
  outgoing.acknowledge({ received: HEADER_BYTES + 1, limit: WINDOW_BYTES });
  await wait(5_000);
  expect(states).toHaveLength(2);
});

test("a peer that acknowledges slowly is not asked", async () => {
  const { exchange, outgoing, states } = open();
  for (let at = 0; at < 5; at += 1) outgoing.send("x");
  exchange.expectAcknowledgement();
  for (let at = 1; at < 5; at += 1) {
    await wait(500);
    outgoing.acknowledge({ received: at * (HEADER_BYTES + 1), limit: WINDOW_BYTES });
  }
  expect(states).toEqual([]);
});

test("a peer that seems to be absent is asked at once, although it owes nothing", async () => {
  const { exchange, bus, states } = open();
  bus.isPeerAbsent = true;
  exchange.expectAcknowledgement();
  await wait(500);
  expect(states).toMatchObject([{ ask: true }]);
  bus.isPeerAbsent = false;
  await wait(5_000);
  expect(states).toHaveLength(1);
});

test("nothing is reported without a bus, or after the end", async () => {
  const { exchange, outgoing, bus, receive, states, frames } = open();
  bus.isOpen = false;
  exchange.send();
  expect(states).toEqual([]);
  bus.isOpen = true;
  outgoing.send("x");
  receive(1);
  exchange.sendSoon();
  exchange.expectAcknowledgement();
  exchange.resend();
  exchange.resend();
  exchange.stop();
  exchange.send();
  exchange.sendSoon();
  exchange.expectAcknowledgement();
  await wait(5_000);
  expect([states, frames.length]).toEqual([[], 2]);
});

function open() {
  const states: unknown[] = [];
  const frames: Buffer[] = [];
  const bus = { isOpen: true, isPeerAbsent: false };
  const incoming = new Incoming({ message: () => {}, tooLong: () => {}, end: () => {} }, WINDOW_BYTES);
  incoming.resume();
  const outgoing = new Outgoing(
    {
      progress: () => incoming.progress,
      isOpen: () => true,
      publish: (frame) => void frames.push(frame),
      drained: () => {},
    },
    WINDOW_BYTES,
  );
  const exchange = new StateExchange({
    incoming,
    outgoing,
    isOpen: () => bus.isOpen,
    isPeerAbsent: () => bus.isPeerAbsent,
    publish: (frame, wantsAnswer) => void states.push({ ...readState(frame), ask: wantsAnswer }),
  });
  /** A message with so many bytes arrives. */
  const receive = (bytes: number): void => {
    incoming.take(numberedFrame(FrameKind.last, incoming.progress.received, bytes));
  };
  return { exchange, incoming, outgoing, bus, states, frames, receive };
}

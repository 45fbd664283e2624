import { describe, expect, it } from "vitest";
import {
  FATAL,
  MALFORMED,
  NOT_AN_UPGRADE,
  REFUSED,
  REFUSED_BEFORE_INITIALIZE,
  type Refused,
} from "./bad-messages.ts";
import { Bystander } from "./bystander.ts";
import { pollUntil } from "./deadline.ts";
import { mutatedMessage } from "./message-fuzz.ts";
import { openDescriptors, residentBytes } from "./proc-fs.ts";
import { frame, RawSocket, upgradeRequest } from "./raw-websocket.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";

const MIB = 1024 * 1024;
const FRAME_LIMIT = 16 * MIB;
const MESSAGE_LIMIT = 64 * MIB;
const FUZZED_MESSAGES = 3_000;
const RANDOM_BLOBS = 100;
const SLOW_CLIENTS = 40;
/** A server that stands still at one of these inputs does so for good, or for much longer. */
const MAX_REQUEST_MS = 10_000;
const MAX_SILENCE_MS = 10_000;
const MAX_LEAK_BYTES = 64 * MIB;
// The real server keeps the stdin of a process for as long as it can be read, 80 s after its end.
const SETTLE_DEADLINE_MS = 60_000;

const INITIALIZE = '{"id":1,"method":"initialize","params":{"clientName":"bad"}}';
const INITIALIZED = '{"method":"initialized"}';
const STATUS = '{"id":"alive","method":"environment/status"}';

async function openInitialized(port: number): Promise<RawSocket> {
  const raw = await RawSocket.upgrade(port);
  raw.write(frame(INITIALIZE));
  expect(JSON.parse(await raw.message())).toMatchObject({ id: 1, result: {} });
  raw.write(frame(INITIALIZED));
  return raw;
}

async function expectAlive(raw: RawSocket): Promise<void> {
  raw.write(frame(STATUS));
  expect(JSON.parse(await raw.message())).toEqual({ id: "alive", result: { status: "ready" } });
}

async function refused(raw: RawSocket, cases: readonly Refused[]): Promise<void> {
  for (const [id, { method, params, code }] of cases.entries()) {
    const text = JSON.stringify({ id, method, params });
    raw.write(frame(text));
    const answer = JSON.parse((await raw.message()) || "null");
    expect({ text, id: answer?.id, code: answer?.error?.code }).toEqual({ text, id, code });
  }
}

async function malformedMessages(port: number): Promise<void> {
  const raw = await openInitialized(port);
  for (const text of MALFORMED) {
    for (const opcode of [1, 2]) {
      raw.write(frame(text, { opcode }));
      const answer = JSON.parse((await raw.message()) || "null");
      const shown = text.slice(0, 80);
      expect({ shown, id: answer?.id, code: answer?.error?.code }).toEqual({ shown, id: -1, code: -32600 });
    }
  }
  await expectAlive(raw);
  raw.cut();
}

async function refusedMessages(port: number): Promise<void> {
  const early = await RawSocket.upgrade(port);
  await refused(early, REFUSED_BEFORE_INITIALIZE);
  early.cut();
  const raw = await openInitialized(port);
  await refused(raw, REFUSED);
  await expectAlive(raw);
  raw.cut();
}

async function fatalMessages(port: number): Promise<void> {
  for (const text of FATAL) {
    const raw = await openInitialized(port);
    raw.write(frame(text));
    await raw.endedByServer();
  }
  const early = await RawSocket.upgrade(port);
  early.write(frame(INITIALIZED));
  await early.endedByServer();
}

/** Frames that break the framing itself. */
async function brokenFrames(port: number): Promise<void> {
  const broken: readonly Buffer[] = [
    frame("{}", { opcode: 3 }),
    frame("{}", { opcode: 11 }),
    frame("{}", { reservedBits: 4 }),
    frame("{}", { reservedBits: 1 }),
    frame("{}", { masked: false }),
    frame("", { opcode: 9, fin: false }),
    frame("x".repeat(126), { opcode: 9 }),
    frame("{}", { opcode: 0 }),
    Buffer.concat([frame("{", { fin: false }), frame("}", { opcode: 1 })]),
    frame("{}", { claimedLength: 2n ** 63n }),
    frame("{}", { claimedLength: 2n ** 40n }),
    frame("x", { opcode: 8 }),
    frame(Buffer.from([0x03, 0xec]), { opcode: 8 }),
    frame(Buffer.from([0xff, 0xfe, 0x80]), { opcode: 1 }),
  ];
  for (const bytes of broken) {
    const raw = await openInitialized(port);
    raw.write(bytes);
    await raw.endedByServer();
  }
}

async function tooLarge(port: number): Promise<void> {
  const padded = (bytes: number, id: string): string => {
    const text = `{"id":"${id}","method":"environment/status","ignored":"`;
    return `${text}${"x".repeat(bytes - text.length - 2)}"}`;
  };
  const fits = await openInitialized(port);
  fits.write(frame(padded(FRAME_LIMIT, "frame")));
  expect(JSON.parse(await fits.message())).toEqual({ id: "frame", result: { status: "ready" } });
  for (const piece of fragments(padded(MESSAGE_LIMIT, "message"))) fits.write(piece);
  expect(JSON.parse(await fits.message())).toEqual({ id: "message", result: { status: "ready" } });
  await expectAlive(fits);
  fits.cut();

  const largeFrame = await openInitialized(port);
  largeFrame.write(frame(padded(FRAME_LIMIT + 1, "frame")));
  await largeFrame.endedByServer();

  const largeMessage = await openInitialized(port);
  for (const piece of fragments(padded(MESSAGE_LIMIT + 1, "message"))) largeMessage.write(piece);
  await largeMessage.endedByServer();
}

function fragments(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const size = FRAME_LIMIT / 2;
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) =>
    frame(bytes.subarray(i * size, (i + 1) * size), { opcode: i === 0 ? 1 : 0, fin: i === count - 1 }),
  );
}

/** Begun and never finished: the client goes away in the middle of a frame. */
async function halfFrames(port: number): Promise<void> {
  for (const claimedLength of [10n, 1000n, BigInt(FRAME_LIMIT)]) {
    for (const reset of [false, true]) {
      const raw = await openInitialized(port);
      raw.write(frame('{"id":1', { claimedLength }));
      await expectFlushed(raw);
      if (reset) raw.socket.resetAndDestroy();
      else raw.cut();
    }
  }
}

function expectFlushed(raw: RawSocket): Promise<unknown> {
  return pollUntil(
    () => raw.socket.writableLength === 0,
    SETTLE_DEADLINE_MS,
    () => "the bytes to leave",
  );
}

async function garbageHttp(port: number): Promise<void> {
  for (const text of NOT_AN_UPGRADE) {
    const raw = await RawSocket.open(port);
    raw.write(text);
    const head = await raw.httpHead();
    const shown = text.slice(0, 80);
    expect({ shown, answer: head === "" || /^HTTP\/1\.[01] [45]\d\d/.test(head) }).toEqual({
      shown,
      answer: true,
    });
    raw.cut();
  }
}

/** Upgrades that never finish, held open meanwhile. */
async function slowUpgrades(port: number): Promise<RawSocket[]> {
  const request = upgradeRequest();
  return Promise.all(
    Array.from({ length: SLOW_CLIENTS }, async (_, i) => {
      const raw = await RawSocket.open(port);
      const prefix = request.slice(0, Math.floor(((request.length - 1) * i) / SLOW_CLIENTS));
      for (const character of prefix) raw.write(character);
      return raw;
    }),
  );
}

async function randomBytes(port: number, random: SeededRandom): Promise<void> {
  for (let i = 0; i < RANDOM_BLOBS; i++) {
    const raw = i % 2 === 0 ? await RawSocket.open(port) : await RawSocket.upgrade(port);
    raw.write(random.bytes(random.between(1, 300)));
    await expectFlushed(raw);
    raw.cut();
  }
}

/** Damaged messages one after another; where one ends the connection, the next has a new one. */
async function fuzzedMessages(port: number, random: SeededRandom): Promise<void> {
  let raw = await RawSocket.upgrade(port);
  const drain = async () => {
    raw.write(frame('{"id":"drain","method":"no/such/method"}'));
    while (!raw.isOver) {
      const text = await raw.message();
      if (text === "" || JSON.parse(text).id === "drain") return;
    }
  };
  for (let i = 0; i < FUZZED_MESSAGES; i++) {
    if (raw.isOver) raw = i % 3 === 0 ? await RawSocket.upgrade(port) : await openInitialized(port);
    raw.write(frame(mutatedMessage(random), { opcode: random.pick([1, 2]) }));
    if (i % 10 === 0) await drain();
  }
  await drain();
  raw.cut();
}

async function everything(server: ServerUnderTest, random: SeededRandom): Promise<void> {
  const slow = await slowUpgrades(server.port);
  await malformedMessages(server.port);
  await refusedMessages(server.port);
  await fatalMessages(server.port);
  await brokenFrames(server.port);
  await halfFrames(server.port);
  await garbageHttp(server.port);
  await randomBytes(server.port, random);
  await fuzzedMessages(server.port, random);
  await tooLarge(server.port);
  for (const raw of slow) raw.cut();
}

describe("bad input on one connection", () => {
  it("is answered or ends that connection, goes unnoticed by others, and leaves nothing behind", async () => {
    const random = new SeededRandom(runSeed);
    await using server = await startServer();
    const bystander = await Bystander.begin(server.url);
    const settledDescriptors = async (most: number) =>
      pollUntil(
        () => openDescriptors(server.pid).length <= most && openDescriptors(server.pid).length,
        SETTLE_DEADLINE_MS,
        () =>
          `${openDescriptors(server.pid).length} descriptors to become ${most}: ${openDescriptors(server.pid).join(" ")}`,
      );
    const before = openDescriptors(server.pid).length;
    try {
      await everything(server, random);
      await settledDescriptors(before);
      // A first pass fills caches and heaps; a second and third must not add to it.
      const residentAfterFirst = residentBytes(server.pid);
      for (let pass = 0; pass < 1 + faultRounds; pass++) await everything(server, random);
      await settledDescriptors(before);
      await pollUntil(
        () => residentBytes(server.pid) - residentAfterFirst < MAX_LEAK_BYTES,
        SETTLE_DEADLINE_MS,
        () => `${residentBytes(server.pid)} resident bytes to come back to ${residentAfterFirst}`,
      );
    } catch (error) {
      throw new Error(`FAULT_SEED ${runSeed}: ${error instanceof Error ? error.message : ""}`, {
        cause: error,
      });
    }
    const experience = await bystander.end();
    expect(experience.lines).toBeGreaterThan(100);
    expect(experience.requests).toBeGreaterThan(100);
    expect(experience.longestRequestMs).toBeLessThan(MAX_REQUEST_MS);
    expect(experience.longestSilenceMs).toBeLessThan(MAX_SILENCE_MS);
  });
});

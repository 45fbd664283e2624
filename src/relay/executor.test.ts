import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { WebSocket } from "ws";
import { FakeRelay } from "../../test/fixtures/fake-relay.ts";
import { freePort } from "../../test/fixtures/free-port.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import { Initiator } from "../noise/handshake.ts";
import { loadKem } from "../noise/kem.ts";
import { KeyPair } from "../noise/keys.ts";
import { Backoff } from "./backoff.ts";
import { type ExecutorOptions, RelayExecutor } from "./executor.ts";
import { readFrame, type RelayFrame, writeFrame } from "./frame.ts";
import { REPLACED } from "./rivalry.ts";

const kem = await loadKem();
const own = new KeyPair(kem);
const WAIT = { timeout: 20_000, interval: 20 };

let relay: FakeRelay;
let log: string[];
let executor: RelayExecutor;

beforeEach(async () => {
  relay = await FakeRelay.open();
  log = [];
});

afterEach(async () => {
  executor.close();
  await relay[Symbol.asyncDispose]();
});

function create(options: Partial<ExecutorOptions> = {}): RelayExecutor {
  const write =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void log.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  const logger: Logger = {
    error: write("error"),
    warn: write("warn"),
    info: write("info"),
    debug: write("debug"),
  };
  executor = new RelayExecutor({
    base: options.base ?? relay.base,
    environmentId: "x",
    bearer: () => "token",
    kem,
    own,
    logger,
    accept: () => {},
    ...options,
  });
  return executor;
}

describe("the first registration", () => {
  test.each([429, 503])("waits while it is answered %i, and logs that once", async (status) => {
    relay.answer = () => (relay.requests.length < 2 ? relay.refused(status, "later") : relay.accepted());
    await create().start();
    expect(relay.requests).toHaveLength(2);
    expect(log).toEqual([
      expect.stringMatching(/^warn: the relay cannot be reached; trying again .*later/) as string,
    ]);
  });

  test("waits for a relay that cannot be reached", async () => {
    await relay[Symbol.asyncDispose]();
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const starting = create({ base }).start();
    await vi.waitFor(() => expect(log).toHaveLength(1), WAIT);
    relay = await FakeRelay.open(port);
    await starting;
    expect(log).toEqual([
      expect.stringMatching(/^warn: the relay cannot be reached; .*ECONNREFUSED/) as string,
    ]);
  });

  test.each([401, 403, 404, 409])("is refused by a %i", async (status) => {
    relay.answer = () => relay.refused(status, "no");
    await expect(create().start()).rejects.toMatchObject({ status });
    expect([relay.requests.length, log]).toEqual([1, []]);
  });
});

describe("an executor that clients reach elsewhere, too", () => {
  test.each([401, 409])("starts despite a %i, tries again, and logs that once", async (status) => {
    const refused = vi.fn();
    const connected = vi.fn();
    relay.answer = () => (relay.requests.length < 3 ? relay.refused(status, "no") : relay.accepted());
    relay.connected = connected;
    await create({ keepsTrying: true, refused }).start();
    await vi.waitFor(() => expect(connected).toHaveBeenCalled(), WAIT);
    expect(refused).not.toHaveBeenCalled();
    expect(log).toEqual([
      expect.stringMatching(/^error: the relay refuses this executor; trying again /) as string,
    ]);
  });
});

test("an executor that is replaced time and again comes back ever later, and logs why once", async () => {
  const times: number[] = [];
  const waits = vi.spyOn(Backoff.prototype, "next");
  onTestFinished(() => waits.mockRestore());
  relay.connected = (webSocket) => {
    times.push(performance.now());
    webSocket.close(1001, REPLACED);
  };
  await create().start();
  await vi.waitFor(() => expect(times).toHaveLength(4), WAIT);
  const pauses = times.slice(1).map((time, index) => time - times[index]!);
  // What a pause takes besides is up to the machine.
  const { contexts, results } = waits.mock;
  // The executor of the test before may be asking for its last one.
  const planned = results.flatMap(({ value }, call) => (contexts[call] === contexts.at(-1) ? [value] : []));
  expect(planned[2]).toBeGreaterThan(2 * planned[0]!);
  for (const [index, pauseMs] of pauses.entries()) expect(pauseMs).toBeGreaterThan(planned[index]! - 10);
  expect(log).toEqual([
    expect.stringMatching(
      /^warn: another connection keeps replacing this executor's: .*same identity/,
    ) as string,
  ]);
});

describe("a client that is no longer authorized", () => {
  const streamId = "stream";

  async function open(webSocket: WebSocket): Promise<RelayFrame[]> {
    const frames: RelayFrame[] = [];
    webSocket.on("message", (data) => frames.push(readFrame(data as Buffer)!));
    const { request } = new Initiator(kem, {
      own: new KeyPair(kem),
      peer: own.publicKey,
      binding: { environmentId: "x", registrationId: "r", streamId },
      payload: Buffer.from("authorization"),
    });
    webSocket.send(writeFrame({ streamId, kind: "handshake", payload: Buffer.from(request) }));
    await once(webSocket, "message");
    return frames;
  }

  async function connect(isAuthorized: () => boolean): Promise<RelayFrame[]> {
    relay.answer = (action) => (action === "validate" ? { body: { valid: true } } : relay.accepted());
    const connected = new Promise<WebSocket>((resolve) => {
      // A relay sends nothing until there is a client.
      relay.connected = (webSocket) => void setTimeout(() => resolve(webSocket), 100);
    });
    await create({ isAuthorized }).start();
    return open(await connected);
  }

  test("loses the stream that it has opened", async () => {
    let isAuthorized = true;
    const frames = await connect(() => isAuthorized);
    isAuthorized = false;
    await vi.waitFor(() => expect(frames.map(({ kind }) => kind)).toEqual(["handshake", "reset"]), WAIT);
  });

  test("keeps it if that was for a moment only, as when the list is being written", async () => {
    let isAuthorized = true;
    let answers = 0;
    const frames = await connect(() => {
      answers += 1;
      return isAuthorized || answers % 2 === 1;
    });
    isAuthorized = false;
    await vi.waitFor(() => expect(answers).toBeGreaterThan(4), WAIT);
    expect(frames.map(({ kind }) => kind)).toEqual(["handshake"]);
  });
});

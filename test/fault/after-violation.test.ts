import { openLink } from "../fixtures/open-link.ts";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import { createServer, type Server } from "../../src/server/index.ts";
import { JsonLinesTransport } from "../../src/transport/json-lines.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { listenWebSocket, type WebSocketListener } from "../../src/transport/websocket/websocket-server.ts";
import { openMemoryPeer, openWebSocketPeer } from "../conformance/raw-peer.ts";
import { withDeadline } from "./deadline.ts";
import { base64, start } from "./limited-server.ts";
import { frame, RawSocket } from "./raw-websocket.ts";

const DEADLINE_MS = 60_000;
const LIBRARY_BYTES = 8 * 1024;
const LONG_BYTES = 400 * 1024;
const FRAGMENTS = 3;

let server: Server;
let listener: WebSocketListener;
let directory: string;
let files = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "after-violation-"));
  server = createServer({ environment: { PATH: process.env["PATH"] } });
  listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    accept: (transport) => server.accept(transport),
  });
});

afterAll(async () => {
  await Promise.all([listener.close(), server.close()]);
  await rm(directory, { recursive: true });
});

/** A message with a member that is ignored, to make it so long. */
const padded = (message: object, bytes: number): string =>
  JSON.stringify({ ...message, padding: "x".repeat(bytes) });

/** The same message as each of the ways in which the server reads it. */
const FRAMINGS: Readonly<Record<string, (message: object) => Buffer>> = {
  small: (message) => frame(JSON.stringify(message)),
  library: (message) => frame(padded(message, LIBRARY_BYTES)),
  binary: (message) => frame(JSON.stringify(message), { opcode: 2 }),
  long: (message) => frame(padded(message, LONG_BYTES)),
  fragmented: (message) => {
    const bytes = Buffer.from(padded(message, LIBRARY_BYTES));
    const size = Math.ceil(bytes.length / FRAGMENTS);
    const pieces = Array.from({ length: FRAGMENTS }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    return Buffer.concat(
      pieces.map((piece, index) =>
        frame(piece, { opcode: index === 0 ? 1 : 0, fin: index === FRAGMENTS - 1 }),
      ),
    );
  },
};

const VIOLATIONS: Readonly<Record<string, object>> = {
  "a notification that nobody knows": { method: "no/such/notification" },
  "an answer to nothing that was asked": { id: 77, result: {} },
};

/** What must no longer happen: one request with an immediate effect, and one that leaves a process behind. */
function effects(): { file: string; requests: readonly object[] } {
  files += 1;
  const file = join(directory, `file-${files}`);
  const write = { path: pathToFileURL(file).href, dataBase64: base64("x") };
  return {
    file,
    requests: [
      { id: 2, method: "fs/writeFile", params: write },
      { id: 3, method: "process/start", params: start("p", "exec sleep 600") },
    ],
  };
}

/** Opens a session with raw frames, and returns its id. */
async function shakeHands(raw: RawSocket): Promise<string> {
  raw.write(frame(JSON.stringify({ id: 1, method: "initialize", params: { clientName: "x" } })));
  const { result } = JSON.parse(await raw.message()) as { result: { sessionId: string } };
  raw.write(frame(JSON.stringify({ method: "initialized" })));
  return result.sessionId;
}

async function processesOf(sessionId: string): Promise<unknown> {
  const peer = await openWebSocketPeer(listener.url);
  await peer.handshake({ resumeSessionId: sessionId });
  const { processes } = (await peer.request("process/list", {})) as { processes: unknown };
  peer.drop();
  return processes;
}

describe.each(Object.keys(VIOLATIONS))("behind %s", (violation) => {
  for (const [first, violate] of Object.entries(FRAMINGS))
    for (const [second, follow] of Object.entries(FRAMINGS))
      it(`nothing is done over a WebSocket (${first} frame, then ${second} ones)`, async () => {
        const raw = await RawSocket.upgrade(Number(new URL(listener.url).port));
        const sessionId = await shakeHands(raw);
        const { file, requests } = effects();
        raw.write(Buffer.concat([violate(VIOLATIONS[violation]!), ...requests.map(follow)]));
        await raw.endedByServer();
        expect(await processesOf(sessionId)).toEqual([]);
        expect(existsSync(file)).toBe(false);
      });

  it("nothing is done over JSON lines", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const ended = new Promise<void>((resolve) =>
      server.accept(new JsonLinesTransport(input, output, "lines"), { resumable: false, ended: resolve }),
    );
    const { file, requests } = effects();
    const messages = [
      { id: 1, method: "initialize", params: { clientName: "x" } },
      { method: "initialized" },
      VIOLATIONS[violation]!,
      ...requests,
    ];
    input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
    await withDeadline(ended, DEADLINE_MS, () => "the end of the connection");
    expect(existsSync(file)).toBe(false);
  });

  it("nothing is done over memory", async () => {
    const [ours, theirs] = createMemoryPair();
    const peer = openMemoryPeer(ours);
    server.accept(theirs);
    const { sessionId } = await peer.handshake();
    const { file, requests } = effects();
    for (const message of [VIOLATIONS[violation]!, ...requests]) peer.sendText(JSON.stringify(message));
    await withDeadline(peer.closed, DEADLINE_MS, () => "the end of the connection");
    expect(await processesOf(sessionId)).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });
});

it("behind an unknown notification, nothing is done for a client in the same program", async () => {
  const ended = createDeferred<string | undefined>();
  const link = openLink(server, { notification: () => {}, closed: (reason) => ended.resolve(reason) });
  await link.request("initialize", { clientName: "x" });
  link.notify("initialized", undefined);
  const { file, requests } = effects();
  link.notify("no/such/notification", {});
  const answers = (requests as { method: string; params: object }[]).map(({ method, params }) =>
    link.request(method, params),
  );
  const settled = await Promise.allSettled(answers);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await withDeadline(ended.promise, DEADLINE_MS, () => "the end of the link");
  expect(existsSync(file)).toBe(false);
});

it("what was asked before a violation, in the same chunk, is done and answered", async () => {
  const raw = await RawSocket.upgrade(Number(new URL(listener.url).port));
  await shakeHands(raw);
  const { file, requests } = effects();
  raw.write(
    Buffer.concat([
      FRAMINGS["small"]!(requests[0]!),
      FRAMINGS["small"]!(VIOLATIONS["a notification that nobody knows"]!),
    ]),
  );
  expect(await raw.message()).toBe('{"id":2,"result":{}}');
  await raw.endedByServer();
  expect(existsSync(file)).toBe(true);
});

it("a request that comes while the server closes the connection starts nothing", async () => {
  const closing = createServer({ environment: { PATH: process.env["PATH"] } });
  const input = new PassThrough();
  // A peer that does not read holds up the end.
  const output = new PassThrough({ highWaterMark: 1 });
  closing.accept(new JsonLinesTransport(input, output, "lines"));
  const { file, requests } = effects();
  const messages = [
    { id: 1, method: "initialize", params: { clientName: "x" } },
    { method: "initialized" },
    { id: 9, method: "environment/status" },
  ];
  input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  await new Promise<void>((resolve) => output.once("readable", resolve));
  await closing.close();
  input.write(requests.map((message) => `${JSON.stringify(message)}\n`).join(""));
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(existsSync(file)).toBe(false);
  output.destroy();
  input.destroy();
});

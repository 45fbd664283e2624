import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeEach, describe, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { CODEX_VERSION } from "../../scripts/install-codex.mjs";
import { type Ciphers, Initiator, Request } from "../../src/noise/handshake.ts";
import { loadLibraryKem } from "../../src/noise/kem.ts";
import { KeyPair, type PublicKey, randomSecret } from "../../src/noise/keys.ts";
import { readFrame, type RelayFrame, writeFrame } from "../../src/relay/frame.ts";
import { readKey, SECURITY_PROFILE, writeKey } from "../../src/relay/wire-key.ts";
import { launch } from "../conformance/server-process.ts";
import { runCodex } from "../e2e/codex-run.ts";
import { MockModel } from "../e2e/mock-model.ts";
import { pollUntil } from "../fault/deadline.ts";
import { type RecordedHandshake, saveRecorded, scripted } from "./recorded-handshake.ts";

const DEADLINE_MS = 30_000;
const ENVIRONMENT = "recorded";
const REGISTRATION = "reg_recorded";

/** Everything that is random on this side of one handshake. */
function randomness(): Pick<RecordedHandshake, "codex" | "own" | "ephemeral" | "encapsulations"> {
  return {
    codex: CODEX_VERSION,
    own: randomSecret(),
    ephemeral: randomSecret(),
    encapsulations: [randomBytes(32), randomBytes(32)],
  };
}

const framed = (message: object): Buffer => {
  const json = Buffer.from(JSON.stringify(message));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
};

const initialize = framed({ id: 1, method: "initialize", params: { clientName: "recorder" } });

let server: ReturnType<typeof createServer>;
let base: string;
/** What the registry answers to an action, by what was asked. */
let answers: Record<string, (asked: Record<string, unknown>) => object>;
let meeting: Promise<WebSocket>;

beforeEach(async () => {
  const sockets = new WebSocketServer({ noServer: true });
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const action = request.url!.split("/").at(-1)!;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answers[action]!(JSON.parse(body) as Record<string, unknown>)));
    });
  });
  meeting = new Promise((resolve) => {
    server.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, resolve));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const registration = (): object => ({
  environment_id: ENVIRONMENT,
  url: base.replace("http", "ws"),
  security_profile: SECURITY_PROFILE,
  executor_registration_id: REGISTRATION,
});

const framesOf = (webSocket: WebSocket): RelayFrame[] => {
  const frames: RelayFrame[] = [];
  webSocket.on("message", (data) => frames.push(readFrame(data as Buffer)!));
  return frames;
};

const next = <Kind extends RelayFrame["kind"]>(
  frames: readonly RelayFrame[],
  kind: Kind,
): Promise<Extract<RelayFrame, { kind: Kind }>> =>
  pollUntil(
    () => (frames.find((frame) => frame.kind === kind) as Extract<RelayFrame, { kind: Kind }>) ?? false,
    DEADLINE_MS,
    () => kind,
  );

const received = (ciphers: Ciphers, record: Buffer): { plaintext: Buffer; record: Buffer } => ({
  plaintext: ciphers.receiving.decrypt(record),
  record,
});

async function withExecutor(): Promise<RecordedHandshake> {
  const own = randomness();
  let peer: PublicKey | undefined;
  answers = {
    register: ({ executor_public_key: key }) => {
      peer = readKey(key);
      return registration();
    },
    validate: () => ({ valid: true }),
  };
  const executor = await launch("codex", ["--remote", base, "--environment-id", ENVIRONMENT], {
    env: { CODEX_API_KEY: "unused" },
  });
  try {
    const webSocket = await meeting;
    const frames = framesOf(webSocket);
    const kem = await loadLibraryKem();
    const binding = { environmentId: ENVIRONMENT, registrationId: REGISTRATION, streamId: randomUUID() };
    const { streamId } = binding;
    const payload = Buffer.from("authorization");
    const key = new KeyPair(kem, own.own);
    const initiator = new Initiator(scripted(kem, own.encapsulations), {
      own: key,
      peer: peer!,
      binding,
      payload,
      ephemeral: new KeyPair(kem, own.ephemeral),
    });
    const request = Buffer.from(initiator.request);
    webSocket.send(writeFrame({ streamId, kind: "resume", nextSeq: 0 }));
    webSocket.send(writeFrame({ streamId, kind: "handshake", payload: request }));
    const { payload: response } = await next(frames, "handshake");
    const ciphers = initiator.finish(response);
    const record = ciphers.sending.encrypt(initialize);
    webSocket.send(writeFrame({ streamId, kind: "data", seq: 0, payload: record }));
    const answer = await next(frames, "data");
    return {
      ...own,
      binding,
      payload,
      peer: peer!,
      request,
      response,
      sent: [{ plaintext: initialize, record }],
      received: [received(ciphers, answer.payload)],
    };
  } finally {
    await executor.stop("SIGKILL");
  }
}

async function withClient(): Promise<RecordedHandshake> {
  const own = randomness();
  const kem = await loadLibraryKem();
  const key = new KeyPair(kem, own.own);
  answers = {
    connect: () => ({
      ...registration(),
      executor_public_key: writeKey(key.publicKey),
      harness_key_authorization: "authorization",
    }),
  };
  const home = await mkdtemp("/var/tmp/exec-server-record-");
  const workspace = join(home, "work");
  await mkdir(workspace);
  await using model = await MockModel.start([]);
  const running = runCodex({
    home,
    workspace,
    modelOrigin: model.origin,
    environment: {
      variables: {
        CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: base,
        CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: ENVIRONMENT,
        CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: "unused",
        CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID: "nobody",
      },
    },
  });
  try {
    const webSocket = await meeting;
    const frames = framesOf(webSocket);
    const { payload: request, streamId } = await next(frames, "handshake");
    const binding = { environmentId: ENVIRONMENT, registrationId: REGISTRATION, streamId };
    const asked = new Request(scripted(kem, own.encapsulations), { own: key, binding, request });
    const { response: answered, ciphers } = asked.accept(new KeyPair(kem, own.ephemeral));
    const response = Buffer.from(answered);
    webSocket.send(writeFrame({ streamId, kind: "handshake", payload: response }));
    const { payload: record } = await next(frames, "data");
    const first = received(ciphers, record);
    const plaintext = framed({ id: 0, error: { code: -32603, message: "this was a recording" } });
    const peer = { x25519: Buffer.from(asked.peer.x25519), mlkem768: Buffer.from(asked.peer.mlkem768) };
    return {
      ...own,
      binding,
      payload: Buffer.from(asked.payload),
      peer,
      request,
      response,
      sent: [{ plaintext, record: ciphers.sending.encrypt(plaintext) }],
      received: [first],
    };
  } finally {
    server.closeAllConnections();
    server.close();
    await running.catch(() => {});
    await rm(home, { recursive: true, force: true });
  }
}

/** RECORD_HANDSHAKES=1 writes recorded-handshakes.json again, with the newest release of Codex. */
describe.runIf(process.env["RECORD_HANDSHAKES"] === "1")("a handshake is recorded", () => {
  const recorded: Record<string, RecordedHandshake> = {};

  it("with Codex's executor", async () => {
    recorded["initiator"] = await withExecutor();
  });

  it("with Codex's client", { timeout: 240_000 }, async () => {
    recorded["responder"] = await withClient();
  });

  afterAll(() => {
    const { initiator, responder } = recorded;
    if (initiator !== undefined && responder !== undefined) saveRecorded({ initiator, responder });
  });
});

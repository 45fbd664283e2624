import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect as connectSocket, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { KeyPair } from "../../src/noise/keys.ts";
import { LIMITS } from "../../src/relay/service/limits.ts";
import { RelayService } from "../../src/relay/service/relay-service.ts";
import type { RelayEvent } from "../../src/relay/service/relay-event.ts";
import { SECURITY_PROFILE, type WireKey, writeKey } from "../../src/relay/wire-key.ts";
import { loadKem } from "../../src/noise/kem.ts";
import { withDeadline } from "../fault/deadline.ts";

/** What a relay says to those who are not, or not yet, an executor or a client. */

const DEADLINE_MS = 20_000;
const TOKEN = { name: "t", mayRegister: true, mayConnect: true, isFor: () => true };

let key: WireKey;
let service: RelayService;
let base: string;
let events: [RelayEvent, Readonly<Record<string, unknown>>][];
const sockets: Socket[] = [];

beforeEach(async () => {
  key = writeKey(new KeyPair(await loadKem()).publicKey);
  events = [];
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await service.close();
});

async function start(options: { isOpen?: boolean; publicUrl?: string; mayAdmit?: () => boolean } = {}) {
  service = new RelayService({
    authenticate: async ({ headers }) =>
      headers.authorization === "Bearer t" ? TOKEN : { refusal: "unknown" },
    isOpen: false,
    record: (event, facts) => void events.push([event, facts]),
    ...options,
  });
  base = await service.listen("127.0.0.1", 0);
}

function stranger(): Socket {
  const socket = connectSocket(Number(new URL(base).port), "127.0.0.1");
  socket.on("error", () => {});
  sockets.push(socket);
  return socket;
}

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object | string;
}

async function ask({ path = "/environments", method = "GET", headers = {}, body }: Asked) {
  const asked = request(base, {
    path,
    method,
    agent: false,
    headers: { authorization: "Bearer t", ...headers },
  });
  asked.end(typeof body === "object" ? JSON.stringify(body) : body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const said = await text(response);
  return { status: response.statusCode, said, json: () => JSON.parse(said) as Record<string, string> };
}

const registration = () => ({ security_profile: SECURITY_PROFILE, executor_public_key: key });
const register = (id: string, headers?: Record<string, string>) =>
  ask({
    path: `/cloud/environment/${id}/register`,
    method: "POST",
    body: registration(),
    ...(headers && { headers }),
  });

describe("an address", () => {
  it("is the one that was asked", async () => {
    await start();
    const { json } = await register("x", { host: "localhost:1234" });
    expect(json()["url"]).toMatch(/^ws:\/\/localhost:1234\/rendezvous\/executor\/reg_[\w-]+\/[\w-]{43}$/);
  });

  it("is the public one, whatever was asked, with or without its path", async () => {
    await start({ publicUrl: "https://relay.example/base" });
    for (const prefix of ["", "/base"]) {
      const { json } = await register("x");
      expect(json()["url"]).toMatch(/^wss:\/\/relay\.example\/base\/rendezvous\//);
      expect((await ask({ path: `${prefix}/environments` })).status).toBe(200);
    }
  });

  it("is not handed out without TLS for another machine", async () => {
    await start();
    const { status, said } = await register("x", { host: "relay.example" });
    expect([status, said]).toEqual([421, expect.stringContaining("--public-url")]);
    expect([...service.environments]).toEqual([]);
  });
});

describe("a page in a browser is refused", () => {
  it("by its origin", async () => {
    await start();
    for (const path of ["/environments", "/cloud/environment/x/connect", "/metrics"])
      expect(await ask({ path, headers: { origin: base } })).toMatchObject({ status: 403 });
    const { json } = await register("x");
    const webSocket = new WebSocket(json()["url"]!, { origin: base });
    const [, response] = await once(webSocket, "unexpected-response");
    expect((response as { statusCode: number }).statusCode).toBe(403);
  });

  it("by the name that leads it here, if there are no tokens", async () => {
    await start({ isOpen: true });
    expect(await ask({ headers: { host: "evil.example" } })).toMatchObject({ status: 421 });
    expect(await ask({ headers: { host: "localhost:1" } })).toMatchObject({ status: 200 });
  });
});

it.each([
  ["nothing", "%20"],
  ["a blank", "a%20b"],
  ["a star", "build-*"],
  ["a letter that cannot be seen", "%E3%85%A4"],
  ["a line feed", "a%0Ab"],
  ["a direction override", "a%E2%80%AEb"],
  ["half a character", "%ED%A0%80"],
  ["broken escapes", "%zz"],
  ["a directory", "%2E%2E"],
  ["257 characters", "x".repeat(257)],
])("an environment id of %s is refused", async (_what, id) => {
  await start();
  expect(await register(id)).toMatchObject({ status: 400 });
  expect([...service.environments]).toEqual([]);
});

it.each(["a%2Fb", "%C3%A4", "%F0%9F%9A%80", "...", "x".repeat(256)])(
  "an environment id may be %s",
  async (id) => {
    await start();
    const path = `/cloud/environment/${id}/register`;
    const { status, json } = await ask({ path, method: "POST", body: registration() });
    expect([status, json()["environment_id"]]).toEqual([200, decodeURIComponent(id)]);
  },
);

it("clients are not admitted while that could not be recorded; executors are", async () => {
  let mayAdmit = false;
  await start({ mayAdmit: () => mayAdmit });
  expect(await register("x")).toMatchObject({ status: 200 });
  const connect = () =>
    ask({
      path: "/cloud/environment/x/connect",
      method: "POST",
      body: { harness_public_key: key },
    });
  expect((await connect()).said).toContain("audit_failed");
  expect(await ask({ path: "/readyz" })).toMatchObject({ status: 503 });
  expect(await ask({ path: "/healthz" })).toMatchObject({ status: 200 });
  mayAdmit = true;
  expect(await ask({ path: "/readyz" })).toMatchObject({ status: 200 });
  expect((await connect()).said).toContain("environment_offline");
});

it("a relay that drains admits no client and no socket, and registers on", async () => {
  await start();
  const { json } = await register("x");
  service.drain();
  expect(await ask({ path: "/readyz" })).toMatchObject({ status: 503 });
  expect(await ask({ path: "/healthz" })).toMatchObject({ status: 200 });
  expect(await register("x")).toMatchObject({ status: 200 });
  const body = { harness_public_key: key };
  expect((await ask({ path: "/cloud/environment/x/connect", method: "POST", body })).said).toContain(
    "draining",
  );
  const [, response] = await once(new WebSocket(json()["url"]!), "unexpected-response");
  expect((response as { statusCode: number }).statusCode).toBe(503);
});

it("a line about a stranger contains nothing that it has sent", async () => {
  await start();
  await ask({
    path: "/cloud/environment/secret/connect",
    method: "POST",
    headers: { authorization: "Bearer secret" },
  });
  expect(events).toEqual([
    [
      "refused",
      { action: "connect", code: "unauthorized", from: expect.stringMatching(/^127\.0\.0\.1:/) as string },
    ],
  ]);
});

it("strangers that are slow are closed after ten seconds", async () => {
  await start();
  const head = (line: string): string => `${line} HTTP/1.1\r\nhost: x\r\n`;
  const post = head("POST /cloud/environment/x/register");
  const beginnings = [
    "",
    post,
    `${post}authorization: Bearer t\r\ncontent-length: 100\r\n\r\n{`,
    `${head("GET /rendezvous/executor/a/b")}upgrade: websocket\r\n`,
  ];
  const ends = beginnings.map(async (beginning) => {
    const socket = stranger();
    // One byte a second.
    const feed = setInterval(() => beginning !== "" && socket.write("x"), 1_000);
    socket.write(beginning);
    socket.resume();
    // A byte that crosses the relay's end on its way is answered with a reset, which is an end, too.
    await new Promise((resolve) => socket.once("close", resolve));
    clearInterval(feed);
  });
  await withDeadline(Promise.all(ends), DEADLINE_MS, () => "their ends");
  expect(await ask({})).toMatchObject({ status: 200 });
});

it("the oldest of too many strangers is closed", async () => {
  await start();
  const first = stranger();
  await once(first, "connect");
  const closed = once(first, "close");
  for (let index = 0; index < LIMITS.maxPendingSockets; index += 1) {
    const socket = stranger();
    if (index % 200 === 199) await once(socket, "connect");
  }
  await withDeadline(closed, DEADLINE_MS, () => "its end");
  expect(await ask({})).toMatchObject({ status: 200 });
});

it("too long headers are refused", async () => {
  await start();
  expect(await ask({ headers: { more: "x".repeat(20_000) } })).toMatchObject({ status: 431 });
});

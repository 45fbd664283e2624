import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Host, RemoteProcess } from "../../src/client/index.ts";
import { type Kem, loadKem } from "../../src/noise/kem.ts";
import { KeyPair } from "../../src/noise/keys.ts";
import type { ServerKind } from "../conformance/server-process.ts";
import { type Forgery, RawClient, RawStream, type Ticket } from "./raw-client.ts";
import { RelayProgram } from "./relay-program.ts";

/** A token whose handshake was refused has to wait, so that each test has its own. */
const ATTACKERS = Array.from({ length: 40 }, (_, index) => `attacker-${index}`);
/** After so many refused handshakes, whoever made them, Codex's executor refuses everyone's for 10 s. */
const BEARABLE = 7;
const KIB = 1024;

const framed = (json: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, Buffer.from(json)]);
};

let kem: Kem;

beforeAll(async () => {
  kem = await loadKem();
});

describe.each<ServerKind>(["ours", "codex"])("attacks on an executor of kind %s through a relay", (kind) => {
  const attackers = [...ATTACKERS];
  let relay: RelayProgram;
  let environmentId: string;
  let attacker: RawClient;
  /** Somebody else, who is there all the time. */
  let host: Host;
  let echo: RemoteProcess;

  const client = (token: string, environment = environmentId): RawClient =>
    new RawClient(kem, { base: relay.base, token, environmentId: environment });

  beforeAll(async () => {
    relay = await RelayProgram.start({ clients: ["bystander", "newcomer", ...ATTACKERS] });
    await relay.executor(kind, "elsewhere");
  });

  afterAll(() => relay[Symbol.asyncDispose]());

  async function startExecutor(): Promise<void> {
    environmentId = `there-${randomUUID()}`;
    await relay.executor(kind, environmentId);
    host = await relay.connect(environmentId, "bystander");
    echo = await host.start(["cat"], { stdin: "pipe" });
  }

  /** Those who are there go on, and others can come. */
  async function expectUnharmed(): Promise<void> {
    const word = randomUUID();
    const output = echo.output();
    await echo.write(`${word}\n`);
    let text = "";
    for await (const { bytes } of output) {
      text += Buffer.from(bytes).toString();
      if (text.includes(word)) break;
    }
    expect(host.state).toBe("connected");
    await using newcomer = await relay.connect(environmentId, "newcomer");
    expect((await newcomer.run(["echo", "served"])).stdout).toBe("served\n");
  }

  beforeEach(() => {
    attacker = client(attackers.pop()!);
  });

  describe("with a stream of its own", () => {
    beforeAll(startExecutor);
    afterEach(expectUnharmed);
    afterAll(() => host.close());

    const records: [string, (stream: RawStream) => Promise<void> | void][] = [
      ["that is cut off", (stream) => stream.data(0, Buffer.alloc(15))],
      [
        "that was sent before",
        (stream) => {
          const record = stream.ciphers!.sending.encrypt(framed("{}"));
          stream.data(0, record);
          stream.data(1, record);
        },
      ],
      ["beyond the window", (stream) => stream.record(65, framed("{}"))],
      [
        "of another stream",
        async (stream) => {
          const other = await attacker.join();
          stream.data(0, other.ciphers!.sending.encrypt(framed("{}")));
          other.webSocket.terminate();
        },
      ],
      ["that cannot be decrypted", (stream) => stream.data(0, Buffer.alloc(100, 7))],
      ["that is too long", (stream) => stream.data(0, Buffer.alloc(65_000, 7))],
      ["that holds an empty message", (stream) => stream.record(0, Buffer.alloc(4))],
      ["that begins a message of 4 GiB", (stream) => stream.record(0, Buffer.alloc(4, 0xff))],
    ];
    it.each(records)("a record is refused %s", async (_what, attack) => {
      const stream = await attacker.join();
      await attack(stream);
      expect(await stream.next("reset")).toMatchObject({ reason: "noise_relay_protocol_error" });
    });

    it("records that arrive in another order within the window are taken", async () => {
      const stream = await attacker.join();
      const message = framed(JSON.stringify({ id: 1, method: "initialize", params: { clientName: "raw" } }));
      const parts = [message.subarray(0, 10), message.subarray(10, 20), message.subarray(20)];
      const encrypted = parts.map((part) => stream.ciphers!.sending.encrypt(part));
      for (const seq of [2, 0, 0, 1]) stream.data(seq, encrypted[seq]!);
      const { payload } = (await stream.next("data")) as { payload: Buffer };
      expect(stream.ciphers!.receiving.decrypt(payload).toString()).toContain("sessionId");
      stream.webSocket.terminate();
    });

    it("a socket is closed that names the stream of another", async () => {
      const victim = await attacker.join();
      const thief = await RawStream.open((await attacker.ticket()).url, victim.streamId);
      thief.reset("stolen");
      expect(await thief.ended()).toBe(1008);
      expect(victim.frames.map((frame) => frame.kind)).toEqual(["handshake"]);
      victim.webSocket.terminate();
    });

    it.each(["stream", "handshake"])("a socket is closed that begins a second %s", async (what) => {
      const stream = await attacker.join();
      stream.handshake(Buffer.alloc(4000, 1), what === "stream" ? randomUUID() : stream.streamId);
      expect(await stream.ended()).toBe(1008);
    });

    it("a socket is closed that sends a frame of more than 70 KiB", async () => {
      const stream = await attacker.join();
      stream.data(0, Buffer.alloc(80 * KIB));
      expect(await stream.ended()).toBe(1009);
    });

    it("an address works once", async () => {
      const { url } = await attacker.ticket();
      const stream = await RawStream.open(url, randomUUID());
      await expect(RawStream.open(url, randomUUID())).rejects.toThrow("404");
      stream.webSocket.terminate();
    });
  });

  describe("with handshakes", () => {
    beforeEach(startExecutor);
    afterEach(async () => {
      await expectUnharmed();
      await host.close();
    });

    /** Sends a handshake that should be refused. */
    async function shake(request: (ticket: Ticket, streamId: string) => Uint8Array): Promise<void> {
      const ticket = await attacker.ticket();
      const stream = await RawStream.open(ticket.url, randomUUID());
      stream.handshake(request(ticket, stream.streamId));
      expect(await stream.next("reset")).toMatchObject({ reason: "noise_relay_protocol_error" });
      // Its token has to wait.
      expect(await attacker.ask()).toBeUndefined();
    }

    const forgeries: [string, (other: Ticket) => Forgery][] = [
      ["another environment", () => ({ environmentId: "elsewhere" })],
      ["another registration", (other) => ({ registrationId: other.executor_registration_id })],
      ["another executor's key", () => ({ peer: new KeyPair(kem) })],
      ["another's authorization", (other) => ({ authorization: other.harness_key_authorization })],
      ["no authorization", () => ({ authorization: "" })],
    ];
    it("one is refused if it does not fit in any part", async () => {
      const other = await client(attackers.pop()!, "elsewhere").ticket();
      for (const [, forge] of forgeries) {
        attacker = client(attackers.pop()!);
        await shake((ticket, streamId) => attacker.initiate(ticket, streamId, forge(other)).request);
      }
      expect(forgeries.length).toBeLessThanOrEqual(BEARABLE);
    });

    it("one is refused if it was made for another stream, or by another client", async () => {
      await shake((ticket) => attacker.initiate(ticket, randomUUID()).request);
      attacker = client(attackers.pop()!);
      const thief = client(attackers.pop()!);
      await shake((ticket, streamId) => thief.initiate(ticket, streamId).request);
    });

    it("one is refused if it is changed, or has a wrong length", async () => {
      const changes: ((request: Buffer) => Buffer)[] = [
        (request) => request.fill(request[2000]! ^ 1, 2000, 2001),
        (request) => request.subarray(0, -1),
        (request) => Buffer.concat([request, Buffer.alloc(5000)]),
        () => Buffer.alloc(1),
      ];
      for (const change of changes) {
        attacker = client(attackers.pop()!);
        await shake((ticket, streamId) => change(Buffer.from(attacker.initiate(ticket, streamId).request)));
      }
    });

    it("one is refused if its authorization was used before", async () => {
      const [used, unused] = [await attacker.ticket(), await attacker.ticket()];
      const stream = await RawStream.open(used.url, randomUUID());
      stream.handshake(attacker.initiate(used, stream.streamId).request);
      await stream.next("handshake");
      const again = await RawStream.open(unused.url, randomUUID());
      const { harness_key_authorization: authorization } = used;
      again.handshake(attacker.initiate(unused, again.streamId, { authorization }).request);
      await again.next("reset");
      stream.webSocket.terminate();
    });

    it("no token gets as many refused as the executor bears, also one that has had a stream", async () => {
      (await attacker.join()).webSocket.terminate();
      const streams: RawStream[] = [];
      for (let ticket = await attacker.ask(); ticket !== undefined; ticket = await attacker.ask())
        streams.push(await RawStream.open(ticket.url, randomUUID()));
      for (const stream of streams) stream.handshake(Buffer.alloc(4000, 1));
      await Promise.all(streams.map((stream) => Promise.race([stream.next("reset"), stream.ended()])));
      const refused = streams.filter(({ frames }) => frames.some((frame) => frame.kind === "reset"));
      expect(refused.length).toBeLessThanOrEqual(BEARABLE);
    });
  });
});

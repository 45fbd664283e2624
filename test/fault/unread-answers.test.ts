import { createHash, randomFillSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createDeferred } from "../../src/base/deferred.ts";
import { AttackedServer } from "../hostile/attacked-server.ts";
import { pollUntil, withDeadline } from "./deadline.ts";

const MIB = 1024 * 1024;
/** As base64 it is more than the budget of a connection. */
const FILE_BYTES = 60 * MIB;
const FRAME_BYTES = 4 * MIB;
const ALL_READ_MS = 100_000;

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** A client that requests a lot and reads nothing until asked to; it keeps only hashes of what it then receives. */
class Glutton {
  readonly #webSocket: WebSocket;
  readonly #wanted = new Map<number, (answer: string) => void>();
  #lastId = 0;

  static async open(url: string): Promise<Glutton> {
    const webSocket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * MIB });
    await once(webSocket, "open");
    const glutton = new Glutton(webSocket);
    const initialized = glutton.call("initialize", { clientName: "glutton" });
    webSocket.send(JSON.stringify({ method: "initialized" }));
    await initialized;
    return glutton;
  }

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
    webSocket.on("message", (data: Buffer) => {
      // An answer begins with its id; the rest may be too much to parse.
      const id = Number(/^\{"id":(\d+),/.exec(data.toString("latin1", 0, 32))?.[1]);
      const base64 = /"(?:dataBase64|bodyBase64)":"/.exec(data.toString("latin1", 0, 4096));
      const start = base64 === null ? 0 : base64.index + base64[0].length;
      const end = data.indexOf('"', start);
      this.#wanted.get(id)?.(base64 === null ? data.toString() : sha256(data.subarray(start, end)));
      this.#wanted.delete(id);
    });
  }

  /** Sends all of them without reading; the answers' hashes come once `read` was called. */
  ask(requests: readonly (readonly [method: string, params: object])[]): Promise<string[]> {
    this.#webSocket.pause();
    return Promise.all(requests.map(([method, params]) => this.call(method, params)));
  }

  read(): void {
    this.#webSocket.resume();
  }

  cut(): void {
    this.#webSocket.terminate();
  }

  call(method: string, params: object): Promise<string> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise<string>((resolve) => this.#wanted.set(id, resolve));
    // A frame has its own limit.
    const text = Buffer.from(JSON.stringify({ id, method, params }));
    for (let start = 0; start < text.length; start += FRAME_BYTES) {
      const fin = start + FRAME_BYTES >= text.length;
      this.#webSocket.send(text.subarray(start, start + FRAME_BYTES), { binary: false, fin });
    }
    return answer;
  }
}

describe("unread answers", () => {
  let directory: string;
  let path: string;
  let hash: string;

  beforeAll(() => {
    directory = mkdtempSync("/var/tmp/exec-server-unread-");
    path = join(directory, "large");
    const bytes = randomFillSync(Buffer.allocUnsafe(FILE_BYTES));
    writeFileSync(path, bytes);
    hash = sha256(bytes.toString("base64"));
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** Some ask and do not read; meanwhile another client works on, and memory stays small. Then everything arrives. */
  async function expectBounded(
    target: AttackedServer,
    { clients, requests: count }: { clients: number; requests: number },
    request: (index: number) => readonly [method: string, params: object],
    expected: string,
  ): Promise<void> {
    const gluttons = await Promise.all(
      Array.from({ length: clients }, () => Glutton.open(target.server.url)),
    );
    const requests = Array.from({ length: count }, (_, index) => request(index));
    const answers = gluttons.map((glutton) => glutton.ask(requests));
    // A client that reads gets as much meanwhile, and small answers besides: enough time for all the others.
    const reader = await target.session();
    for (let round = 0; round < count; round += 1) {
      await reader.request("fs/readFile", { path });
      await reader.request("environment/status");
    }
    reader.cut();
    target.expectModest("while nobody reads");
    await target.expectPrompt("while nobody reads", 1_000);
    for (const [index, glutton] of gluttons.entries()) {
      glutton.read();
      const all = await withDeadline(answers[index]!, ALL_READ_MS, () => "the answers");
      if (all.some((answer) => answer !== expected))
        throw new Error(`a wrong answer among ${all.join(", ")}`);
      glutton.cut();
    }
    target.expectModest("while they are read");
  }

  it.each([
    { clients: 1, requests: 8, concurrent: 8 },
    { clients: 4, requests: 4, concurrent: 4 },
  ])("of fs/readFile take little memory, and all arrive: %j", async ({ concurrent, ...load }) => {
    await using target = await AttackedServer.start({ args: ["--concurrent-requests", `${concurrent}`] });
    await expectBounded(target, load, () => ["fs/readFile", { path }], hash);
  });

  it.each([
    ["with a length", { "content-length": FILE_BYTES }],
    ["without a length", {}],
  ])("of http/request, bodies %s, take little memory, and all arrive", async (_, headers) => {
    const body = Buffer.alloc(FILE_BYTES, "a body that is larger than it looks ");
    const upstream = createServer((_request, response) => {
      response.writeHead(200, headers);
      for (let start = 0; start < body.length; start += MIB)
        response.write(body.subarray(start, start + MIB));
      response.end();
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
    try {
      await using target = await AttackedServer.start();
      const request = (index: number) =>
        ["http/request", { method: "GET", url, requestId: `${index}` }] as const;
      await expectBounded(target, { clients: 1, requests: 8 }, request, sha256(body.toString("base64")));
    } finally {
      upstream.closeAllConnections();
      upstream.close();
    }
  });

  it("of reads that waited for the same output take little memory, and all arrive", async () => {
    const polls = 6_000;
    await using target = await AttackedServer.start();
    const glutton = await Glutton.open(target.server.url);
    const script = "read line; head -c 65536 /dev/zero; exec sleep 60";
    const process = {
      processId: "p",
      argv: ["sh", "-c", script],
      cwd: "file:///",
      tty: false,
      pipeStdin: true,
    };
    await glutton.call("process/start", { ...process, env: { PATH: "/usr/bin:/bin" } });
    const answers = glutton.ask(
      Array.from({ length: polls }, () => ["process/read", { processId: "p", waitMs: 100_000 }] as const),
    );
    const written = glutton.call("process/write", { processId: "p", chunk: "Cg==", writeId: "1" });
    const reader = await target.session();
    for (let round = 0; round < 10; round += 1) await reader.request("fs/readFile", { path });
    reader.cut();
    target.expectModest("while nobody reads");
    await target.expectPrompt("while nobody reads", 1_000);
    glutton.read();
    await withDeadline(written, ALL_READ_MS, () => "the answer to the write");
    const all = await withDeadline(answers, ALL_READ_MS, () => "the answers");
    expect(all.filter((answer) => !/"chunks":\[\{"seq":1,/.test(answer))).toEqual([]);
    target.expectModest("while they are read");
    glutton.cut();
  });

  it("requests whose bodies an upstream server does not answer take little memory, and all are done", async () => {
    const [uploads, bytes] = [12, 28 * MIB];
    const released = createDeferred<void>();
    let begun = 0;
    const upstream = createServer((request, response) => {
      begun += 1;
      const digest = createHash("sha256");
      request.on("data", (piece: Buffer) => digest.update(piece));
      request.on("end", () => void released.promise.then(() => response.end(digest.digest("hex"))));
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
    try {
      await using target = await AttackedServer.start();
      const body = Buffer.alloc(bytes, "a body that goes up ");
      const bodyBase64 = body.toString("base64");
      const glutton = await Glutton.open(target.server.url);
      const answers = Array.from({ length: uploads }, (_, index) =>
        glutton.call("http/request", { method: "POST", url, requestId: `${index}`, bodyBase64 }),
      );
      const reader = await target.session();
      for (let round = 0; round < 10; round += 1) await reader.request("fs/readFile", { path });
      reader.cut();
      await pollUntil(
        () => begun > 0,
        ALL_READ_MS,
        () => "a request at the upstream server",
      );
      target.expectModest("while the upstream server says nothing");
      await target.expectPrompt("while the upstream server says nothing", 1_000);
      released.resolve();
      const all = await withDeadline(Promise.all(answers), ALL_READ_MS, () => "the answers");
      const expected = sha256(Buffer.from(sha256(body)).toString("base64"));
      expect(all).toEqual(Array.from({ length: uploads }, () => expected));
      glutton.cut();
    } finally {
      upstream.closeAllConnections();
      upstream.close();
    }
  });
});

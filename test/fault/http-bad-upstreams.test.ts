import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "./deadline.ts";
import { forgetPeak, peakResidentBytes, residentBytes } from "./proc-fs.ts";
import { CHUNKED, OK, type Script, ScriptedUpstream, writeForEver } from "./scripted-upstream.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, RpcFailure, type SessionClient } from "./session-client.ts";

// Upstream servers that send what no server should.

const MIB = 1024 * 1024;
const DEADLINE_MS = 60_000;
/** A broken reader stalls for ten seconds and more. */
const MAX_LATENCY_MS = 6_000;
const ENDED_MS = 60_000;
const IDLE_CONNECTIONS = 256;

interface HttpResult {
  status: number;
  headers: { name: string; value: string }[];
  bodyBase64: string;
}

describe("an upstream server", () => {
  let server: ServerUnderTest;
  let client: SessionClient;
  let other: SessionClient;
  const upstreams: ScriptedUpstream[] = [];

  beforeAll(async () => {
    server = await startServer();
    other = await openSession(server.url);
    client = await openSession(server.url);
    const warm = await listen({ requested: (socket) => socket.end(OK) });
    await get(warm);
  });

  afterEach(async () => {
    for (const upstream of upstreams.splice(0)) await upstream[Symbol.asyncDispose]();
    if (client.isLost) client = await openSession(server.url);
  });

  afterAll(async () => {
    client?.cut();
    other?.cut();
    await server?.[Symbol.asyncDispose]();
  });

  async function listen(script: Script): Promise<ScriptedUpstream> {
    const upstream = await ScriptedUpstream.listen(script);
    upstreams.push(upstream);
    return upstream;
  }

  /** An upstream that answers everything with this text, and leaves the connection open. */
  const answering = (text: string): Promise<ScriptedUpstream> =>
    listen({ requested: (socket) => socket.write(Buffer.from(text, "latin1")) });

  let requests = 0;
  function send(url: string, more: object = {}): Promise<HttpResult> {
    requests += 1;
    return client.request("http/request", { method: "GET", url, requestId: `r${requests}`, ...more });
  }
  const get = (upstream: ScriptedUpstream, path = "/", more: object = {}): Promise<HttpResult> =>
    send(upstream.url(path), more);

  const textOf = ({ bodyBase64 }: HttpResult): string => Buffer.from(bodyBase64, "base64").toString("latin1");

  /** The message of the failure, or the unexpected result. */
  const failureOf = (request: Promise<HttpResult>): Promise<string> =>
    request.then(
      (result) => `no failure but ${result.status}`,
      (error: unknown) => (error instanceof RpcFailure ? error.message : String(error)),
    );

  const allEnded = (upstream: ScriptedUpstream): Promise<true> =>
    pollUntil(
      () => upstream.open === 0,
      ENDED_MS,
      () => `the end of ${upstream.open} connections`,
    );

  /** The longest that another client waited for an answer until `done` was settled. */
  async function latencyDuring(done: Promise<unknown>): Promise<number> {
    const over = done.then(
      () => true,
      () => true,
    );
    let longest = 0;
    for (;;) {
      const asked = performance.now();
      const answered = other.request("environment/status").then(() => false);
      const isOver = await Promise.race([over, answered]);
      await answered;
      longest = Math.max(longest, performance.now() - asked);
      if (isOver) return longest;
    }
  }

  /** How much more memory the server had at its peak while `use` ran. */
  async function growthDuring(use: () => Promise<unknown>): Promise<number> {
    const before = residentBytes(server.pid);
    forgetPeak(server.pid);
    await use();
    return peakResidentBytes(server.pid) - before;
  }

  it("with a header of 80 000 blanks and NUL fails its request and does not hold up others", async () => {
    const upstream = await answering(`HTTP/1.1 200 OK\r\nx: ${" ".repeat(80_000)}\0\r\n\r\n`);
    const failed = failureOf(get(upstream));
    expect(await latencyDuring(failed)).toBeLessThan(MAX_LATENCY_MS);
    expect(await failed).toContain("error sending request for url");
  });

  it("with blanks behind a header does not hold up others", async () => {
    const blanks = " \t".repeat(50_000);
    const upstream = await answering(
      `HTTP/1.1 200 OK\r\nx: a${blanks}b${blanks}\r\ncontent-length: 0\r\n\r\n`,
    );
    const answered = get(upstream);
    expect(await latencyDuring(answered)).toBeLessThan(MAX_LATENCY_MS);
    expect((await answered).headers[0]).toEqual({ name: "x", value: `a${blanks}b` });
  });

  it.each([
    ["one header", "v".repeat(1000)],
    ["headers of a kilobyte", `${"v".repeat(1000)}\r\nx: `],
    ["headers of a byte", "\r\na:".repeat(4000)],
    ["trailers", undefined],
  ])("with a head without end is given up: %s", async (_, more) => {
    const start = more === undefined ? `${CHUNKED}0\r\n` : "HTTP/1.1 200 OK\r\nx: ";
    const upstream = await listen({
      requested: (socket) => {
        socket.write(start);
        writeForEver(socket, more ?? "x: y\r\n".repeat(4000));
      },
    });
    let failure = "";
    const growth = await growthDuring(async () => {
      const failed = failureOf(get(upstream));
      expect(await latencyDuring(failed)).toBeLessThan(MAX_LATENCY_MS);
      failure = await failed;
    });
    expect(failure).toMatch(/error sending request for url|error decoding response body/);
    expect(growth).toBeLessThan(150 * MIB);
    await allEnded(upstream);
  });

  it("with very many headers is read up to 256 KiB of them, with all that they consist of", async () => {
    const head = (count: number): string =>
      `HTTP/1.1 200 OK\r\n${"x:\r\n".repeat(count)}content-length: 2\r\n\r\nok`;
    const { headers } = await get(await answering(head(64_000)));
    expect(headers).toHaveLength(64_001);
    // Names and values alone would be less than that.
    expect(await failureOf(get(await answering(head(200_000))))).toContain("error sending request for url");
  });

  it("that trickles its head byte by byte is read, and given up at the time limit", async () => {
    const upstream = await listen({
      requested: (socket, target) => {
        const text = target === "/whole" ? OK : `HTTP/1.1 200 OK\r\nx: ${"y".repeat(1_000_000)}`;
        let at = 0;
        const next = (): void => {
          if (at < text.length && !socket.destroyed) socket.write(text[at++]!, () => setImmediate(next));
        };
        next();
      },
    });
    expect(textOf(await get(upstream, "/whole"))).toBe("ok");
    expect(await failureOf(get(upstream, "/endless", { timeoutMs: 1_000 }))).toContain(
      "error sending request",
    );
    await pollUntil(
      () => upstream.sockets.at(-1)?.destroyed ?? false,
      ENDED_MS,
      () => "the end of the connection",
    );
  });

  it("with endless chunks of one byte costs no more memory than its bytes", async () => {
    const block = "1\r\nx\r\n".repeat(10_000);
    let counter = { written: 0 };
    const upstream = await listen({
      requested: (socket) => {
        socket.write(CHUNKED);
        counter = writeForEver(socket, block);
      },
    });
    const growth = await growthDuring(async () => {
      const failed = failureOf(get(upstream));
      // Three million bytes; an object for each of them is a gigabyte.
      const enough = pollUntil(
        () => counter.written > 18 * MIB,
        60_000,
        () => `only ${counter.written} bytes were read`,
      );
      expect(await latencyDuring(enough)).toBeLessThan(MAX_LATENCY_MS);
      client.cut();
      await failed;
    });
    expect(growth).toBeLessThan(100 * MIB);
    await allEnded(upstream);
  });

  it("with a buffered body that is too large is given up", async () => {
    const upstream = await listen({
      requested: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        writeForEver(socket, Buffer.alloc(64 * 1024, "x"));
      },
    });
    const growth = await growthDuring(async () => {
      expect(await failureOf(get(upstream))).toContain("larger than 67108864 bytes");
    });
    expect(growth).toBeLessThan(300 * MIB);
    await allEnded(upstream);
  });

  it("that floods with 1xx heads is given up, and does not hold up others", async () => {
    const heads = "HTTP/1.1 103 Early Hints\r\n\r\n";
    const some = await listen({ requested: (socket) => socket.write(heads.repeat(5_000) + OK) });
    expect(textOf(await get(some))).toBe("ok");
    const upstream = await listen({ requested: (socket) => void writeForEver(socket, heads.repeat(2_000)) });
    const failed = failureOf(get(upstream));
    expect(await latencyDuring(failed)).toBeLessThan(MAX_LATENCY_MS);
    expect(await failed).toContain("error sending request for url");
    await allEnded(upstream);
  });

  it("that redirects with an endless body loses the connection at once", async () => {
    let counter = { written: 0 };
    const upstream = await listen({
      requested: (socket, target) => {
        if (target === "/end") {
          socket.write(OK);
          return;
        }
        socket.write("HTTP/1.1 302 Found\r\nlocation: /end\r\n\r\n");
        counter = writeForEver(socket, Buffer.alloc(64 * 1024, "x"));
      },
    });
    expect(textOf(await get(upstream, "/start"))).toBe("ok");
    await pollUntil(
      () => upstream.sockets[0]?.destroyed ?? false,
      ENDED_MS,
      () => `the end of the first connection, ${counter.written} bytes written`,
    );
    expect(counter.written).toBeLessThan(32 * MIB);
    expect(upstream.requests.map(({ target }) => target)).toEqual(["/start", "/end"]);
  });

  it("whose redirect leads to a place that hangs is left when the request is aborted", async () => {
    const script: Script = {
      requested: (socket, target) => {
        if (target === "/start")
          socket.write("HTTP/1.1 302 F\r\nlocation: /hang\r\ncontent-length: 9\r\n\r\n");
      },
    };
    const byTime = await listen(script);
    expect(await failureOf(get(byTime, "/start", { timeoutMs: 4_000 }))).toContain("/hang");
    await allEnded(byTime);
    const byCancel = await listen(script);
    const cancelled = failureOf(get(byCancel, "/start", { streamResponse: true, requestId: "cancelled" }));
    await asked(byCancel, "/hang");
    await client.request("http/cancel", { requestId: "cancelled" });
    expect(await cancelled).toContain("cancelled");
    await allEnded(byCancel);
    const byLoss = await listen(script);
    const lost = failureOf(get(byLoss, "/start"));
    await asked(byLoss, "/hang");
    client.cut();
    await lost;
    await allEnded(byLoss);
  });

  const asked = (upstream: ScriptedUpstream, target: string): Promise<true> =>
    pollUntil(
      () => upstream.requests.some((request) => request.target === target),
      DEADLINE_MS,
      () => `a request for ${target}`,
    );

  it.each([
    ["length and chunks", "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
    ["chunks and length", "transfer-encoding: chunked\r\ncontent-length: 99\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
    ["two lengths", "content-length: 5\r\ncontent-length: 4\r\n\r\nhello"],
    ["two lengths in one", "content-length: 5, 4\r\n\r\nhello"],
    ["a negative length", "content-length: -5\r\n\r\nhello"],
    ["a length beyond all", "content-length: 99999999999999999999999\r\n\r\nhello"],
    ["a coding behind chunks", "transfer-encoding: chunked, gzip\r\ncontent-length: 5\r\n\r\nhello"],
  ])("whose body could end in two places fails the request, and the connection: %s", async (_, rest) => {
    const upstream = await answering(`HTTP/1.1 200 OK\r\n${rest}`);
    expect(await failureOf(get(upstream))).toContain("error sending request for url");
    await allEnded(upstream);
    expect(upstream.sockets).toHaveLength(1);
  });

  it.each([
    ["a second answer", `${OK}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfalse`],
    ["a longer body", `${OK} and more`],
    [
      "a body where there is none",
      "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfalse",
    ],
  ])(
    "that sends more than was asked for loses the connection, and nothing of it is an answer: %s",
    async (_, text) => {
      let answers = 0;
      const upstream = await listen({
        requested: (socket, target) => {
          answers += 1;
          socket.write(
            answers === 1 ? text : `HTTP/1.1 200 OK\r\ncontent-length: ${target.length}\r\n\r\n${target}`,
          );
        },
      });
      expect([200, 204]).toContain((await get(upstream, "/first")).status);
      expect(textOf(await get(upstream, "/second"))).toBe("/second");
      expect(upstream.requests.map(({ connection }) => connection)).toEqual([0, 1]);
    },
  );

  it.each(["SSH-2.0-OpenSSH_9.0\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 \x01\r\n\r\n"])(
    "that speaks first is asked once, and fails the request: %j",
    async (greeting) => {
      const upstream = await listen({ connected: (socket) => void socket.resume().write(greeting) });
      expect(await failureOf(get(upstream))).toContain("error sending request for url");
      await allEnded(upstream);
      expect(upstream.sockets).toHaveLength(1);
    },
  );

  it("that speaks on an idle connection loses it, and what it said is no answer", async () => {
    const idle: Socket[] = [];
    const upstream = await listen({
      requested: (socket, target) => {
        idle.push(socket);
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${target.length}\r\n\r\n${target}`);
      },
    });
    await get(upstream, "/first");
    idle[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfalse");
    await allEnded(upstream);
    expect(textOf(await get(upstream, "/second"))).toBe("/second");
  });

  it("keeps no more idle connections than are allowed", async () => {
    const waiting: Socket[] = [];
    const all = IDLE_CONNECTIONS + 50;
    const upstream = await listen({
      requested: (socket) => {
        waiting.push(socket);
        if (waiting.length === all) for (const one of waiting) one.write(OK);
      },
    });
    await Promise.all(Array.from({ length: all }, () => get(upstream)));
    expect(upstream.sockets).toHaveLength(all);
    await pollUntil(
      () => upstream.open <= IDLE_CONNECTIONS,
      ENDED_MS,
      () => `${upstream.open} connections are open`,
    );
  });

  it.each(["http", "https"])(
    "that is silent after it was reached by %s is left at the time limit",
    async (scheme) => {
      const upstream = await listen({ connected: (socket) => socket.resume() });
      const url = upstream.url().replace("http", scheme);
      expect(await failureOf(send(url, { timeoutMs: 500 }))).toContain(
        `error sending request for url (${url})`,
      );
      await allEnded(upstream);
      const gone = failureOf(send(url));
      await pollUntil(
        () => upstream.open === 1,
        DEADLINE_MS,
        () => "a second connection",
      );
      client.cut();
      await gone;
      await allEnded(upstream);
    },
  );

  it("that never reads the body of a request is left at the time limit, and costs no second copy of it", async () => {
    const upstream = await listen({ connected: (socket) => socket.pause() });
    const body = Buffer.alloc(8 * MIB, "x").toString("base64");
    const growth = await growthDuring(async () => {
      const sent = [1, 2].map(() =>
        failureOf(get(upstream, "/", { method: "POST", bodyBase64: body, timeoutMs: 3_000 })),
      );
      for (const failure of await withDeadline(Promise.all(sent), DEADLINE_MS, () => "the time limit"))
        expect(failure).toContain("error sending request for url");
    });
    expect(growth).toBeLessThan(200 * MIB);
    // A paused stream does not see its end; reading finds it.
    for (const socket of upstream.sockets) socket.resume();
    await allEnded(upstream);
  });

  it("leaves the server as it was", async () => {
    const upstream = await answering(OK);
    expect(textOf(await get(upstream))).toBe("ok");
    expect(await other.request("environment/status")).toEqual({ status: "ready" });
  });
});

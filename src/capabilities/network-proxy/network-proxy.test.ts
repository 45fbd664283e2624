import { createServer as createHttpServer, type IncomingMessage, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import type { Attempt, ClientDecision, Decision } from "./gatekeeper.ts";
import { type Lookup, NameResolver } from "./name-resolver.ts";
import { NetworkProxy } from "./network-proxy.ts";
import { SharedLimit } from "./proxy-context.ts";
import { NetworkRules, type NetworkRulesConfig } from "./network-rules.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

interface CreateOptions extends Partial<NetworkRulesConfig> {
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly lookup?: Lookup;
  readonly ask?: (attempt: Attempt, signal: AbortSignal) => Promise<ClientDecision>;
  readonly isOwn?: (ip: string, port: number) => boolean;
  readonly sockets?: SharedLimit;
}

async function createProxy({ names = {}, lookup, ask, isOwn, sockets, ...rules }: CreateOptions = {}) {
  const decisions: Decision[] = [];
  const proxy = new NetworkProxy({
    rules: new NetworkRules({ mode: "full", allowLocal: true, allow: ["*"], deny: [], review: [], ...rules }),
    resolver: new NameResolver(
      lookup ??
        (async (name) => {
          const addresses = names[name];
          if (addresses === undefined) throw new Error("no such name");
          return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
        }),
    ),
    ask,
    report: (decision) => decisions.push(decision),
    isOwn: isOwn ?? (() => false),
    socks: true,
    sockets: sockets ?? new SharedLimit(10_000),
  });
  cleanups.push(() => proxy.close());
  const ports = await proxy.listen();
  return { proxy, http: ports.http, socks: ports.socks!, decisions };
}

/** Answers with what it received. */
async function createUpstream(answer?: (request: IncomingMessage, body: string) => string): Promise<number> {
  const server = createHttpServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, rawHeaders } = request;
      response.end(answer?.(request, body) ?? JSON.stringify({ method, url, rawHeaders, body }));
    });
  });
  return listen(server);
}

async function createRawUpstream(serve: (socket: Socket) => void): Promise<number> {
  return listen(
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => {});
      serve(socket);
    }),
  );
}

async function listen(server: Server | HttpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** Sends bytes, and resolves with everything that comes back until the other side ends. */
function exchange(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = dial(port);
  socket.write(bytes);
  return collect(socket);
}

/** The same, with the end of what is sent. */
function exchangeAndEnd(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = dial(port, { allowHalfOpen: true });
  socket.end(bytes);
  return collect(socket);
}

/** Unlike the collectors of streams, leaves the socket open for an answer. */
function collect(socket: Socket): Promise<string> {
  let received = "";
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString("latin1");
  });
  return new Promise((resolve) => {
    for (const event of ["end", "close"]) socket.once(event, () => resolve(received));
  });
}

function dial(port: number, { allowHalfOpen = false } = {}): Socket {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen });
  socket.on("error", () => {});
  cleanups.push(() => socket.destroy());
  return socket;
}

function get(url: string, headers: readonly string[] = [], body = "", method = "GET"): string {
  return [
    `${method} ${url} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    "Connection: close",
    ...headers,
    "",
    body,
  ].join("\r\n");
}

function status(answer: string): string {
  return /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? answer;
}

function socksRequest(name: string, port: number): Buffer {
  return Buffer.concat([
    Buffer.from([5, 1, 0, 5, 1, 0, 3, name.length]),
    Buffer.from(name),
    Buffer.from([port >> 8, port & 255]),
  ]);
}

/** The choice of a method, and a reply. */
function socksReply(code: number): string {
  return String.fromCharCode(5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0);
}

function once(socket: Socket, event: "data" | "close" | "end"): Promise<unknown> {
  return new Promise((resolve) => socket.once(event, resolve));
}

describe("the HTTP proxy", () => {
  it("passes requests on without what concerns only the connection to it", async () => {
    const port = await createUpstream();
    const { http, decisions } = await createProxy();
    const answer = await exchange(
      http,
      get(`http://user:secret@127.0.0.1:${port}/x?y=1`, [
        "X-Kept: 1",
        "Proxy-Authorization: Basic abc",
        "Proxy-Connection: keep-alive",
        "Connection: x-dropped, host",
        "X-Dropped: 1",
        "TE: trailers",
      ]),
    );
    expect(JSON.parse(answer.split("\r\n\r\n")[1]!)).toEqual({
      method: "GET",
      url: "/x?y=1",
      rawHeaders: ["Host", `127.0.0.1:${port}`, "X-Kept", "1", "Connection", "close"],
      body: "",
    });
    expect(decisions).toMatchObject([
      {
        attempt: { protocol: "http", host: "127.0.0.1", port, method: "GET" },
        decision: "allow",
        source: "baseline_policy",
        reason: "allow",
        policyOverride: false,
      },
    ]);
  });

  it("passes bodies on, however they are framed", async () => {
    const port = await createUpstream((_request, body) => `got ${body}`);
    const { http } = await createProxy();
    const url = `http://127.0.0.1:${port}/`;
    expect(await exchange(http, get(url, ["Content-Length: 3"], "abc", "POST"))).toContain("got abc");
    const chunked = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    expect(await exchange(http, get(url, ["Transfer-Encoding: chunked"], chunked, "POST"))).toContain(
      "got abcde",
    );
    expect(await exchange(http, get(url, [], "", "POST"))).toContain("got ");
  });

  it("answers `Expect: 100-continue` only if the request may go on", async () => {
    const port = await createUpstream((_request, body) => `got ${body}`);
    const { http } = await createProxy({ deny: ["bad.test"] });
    const headers = ["Expect: 100-continue", "Content-Length: 2"];
    const allowed = await exchange(http, get(`http://127.0.0.1:${port}/`, headers, "ab", "PUT"));
    expect(allowed).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200/);
    expect(status(await exchange(http, get("http://bad.test/", headers, "ab", "PUT")))).toBe("403");
  });

  it("says in JSON what it has blocked, and why", async () => {
    const { http } = await createProxy({ allow: ["a.test"] });
    const answer = await exchange(http, get("http://example.com/"));
    expect(answer).toContain("x-proxy-error: blocked-by-allowlist");
    expect(JSON.parse(answer.split("\r\n\r\n")[1]!)).toEqual({
      status: "blocked",
      host: "example.com",
      reason: "not_allowed",
      decision: "deny",
      source: "baseline_policy",
      protocol: "http",
      port: 80,
      message: "Domain not in allowlist.",
    });
  });

  it("passes upgrades on, and gives up the connection after any other answer", async () => {
    const server = createHttpServer((_request, response) => response.end("no"));
    server.on("upgrade", (request: IncomingMessage, socket: Socket) => {
      socket.on("error", () => {});
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhi ");
      socket.write(`${request.headers.host} `);
      socket.pipe(socket);
    });
    const port = await listen(server);
    const { http } = await createProxy();
    const asked = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`;
    expect(await exchangeAndEnd(http, `${asked}echo`)).toMatch(
      new RegExp(`^HTTP/1\\.1 101 [^]*upgrade: echo\\r\\n\\r\\nhi 127\\.0\\.0\\.1:${port} echo$`),
    );
    const plain = await createUpstream(() => "an answer");
    const refused = await exchange(http, asked.replace(String(port), String(plain)));
    expect(refused).toMatch(/^HTTP\/1\.1 200 OK[^]*connection: close\r\n\r\nan answer$/);
  });

  it("tunnels, and passes each end of a connection on alone", async () => {
    const port = await createRawUpstream((socket) => {
      void collect(socket).then((received) => socket.end(`got ${received}`));
    });
    const { http } = await createProxy();
    const answer = await exchangeAndEnd(http, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nhello`);
    expect(answer).toBe("HTTP/1.1 200 OK\r\n\r\ngot hello");
  });

  it("answers 502 if nobody listens, or the answer is none", async () => {
    const { http } = await createProxy();
    const closed = await createRawUpstream((socket) => socket.destroy());
    for (const bytes of [
      "HTTP/1.1 099 Odd\r\n\r\n",
      // Fails twice: by its status, and by its body.
      "HTTP/1.1 099 Odd\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "rubbish\r\n\r\n",
      "HTTP/1.1 101 Odd\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ]) {
      const odd = await createRawUpstream((socket) => socket.end(bytes));
      expect([bytes, status(await exchange(http, get(`http://127.0.0.1:${odd}/`)))]).toEqual([bytes, "502"]);
    }
    expect(status(await exchange(http, get(`http://127.0.0.1:${closed}/`)))).toBe("502");
    expect(status(await exchange(http, get("http://no-such-name.test/")))).toBe("502");
    expect(status(await exchange(http, `CONNECT no-such-name.test:1 HTTP/1.1\r\n\r\n`))).toBe("502");
  });

  it.each([
    ["two lengths", "POST http://127.0.0.1:1/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    [
      "a length and chunks",
      "POST http://127.0.0.1:1/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "two hosts",
      "GET http://127.0.0.1:1/ HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1:1\r\nHost: b\r\n\r\n",
    ],
    ["another host", "GET http://127.0.0.1:1/ HTTP/1.1\r\nConnection: close\r\nHost: b.test\r\n\r\n"],
    ["another port", "GET http://127.0.0.1:1/ HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1:2\r\n\r\n"],
    [
      "a host that is hidden in credentials",
      "GET http://127.0.0.1:1@b.test/ HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1:1\r\n\r\n",
    ],
    ["a backslash", "GET http://127.0.0.1:1\\@b.test/ HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["another scheme", "GET ftp://127.0.0.1:1/ HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["a folded header", "GET http://127.0.0.1:1/ HTTP/1.1\r\nX: a\r\n b\r\nHost: x\r\n\r\n"],
    ["a space before a colon", "GET http://127.0.0.1:1/ HTTP/1.1\r\nContent-Length : 5\r\n\r\n"],
    ["a bare line feed", "GET http://127.0.0.1:1/ HTTP/1.1\nX: a\n\n"],
    ["CONNECT to port 0", "CONNECT 127.0.0.1:0 HTTP/1.1\r\n\r\n"],
    ["CONNECT to a URL", "CONNECT http://127.0.0.1:1/ HTTP/1.1\r\n\r\n"],
    [
      "an upgrade with a body",
      "POST http://127.0.0.1:1/ HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\na",
    ],
  ])("refuses %s before it asks or connects", async (_what, bytes) => {
    const { http, decisions } = await createProxy();
    expect(status(await exchange(http, bytes))).toBe("400");
    expect(decisions).toEqual([]);
  });

  it("refuses a transfer coding that hides where a body ends", async () => {
    const { http, decisions } = await createProxy();
    const bytes =
      "POST http://127.0.0.1:1/ HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    expect(status(await exchange(http, bytes))).toBe("501");
    expect(decisions).toEqual([]);
  });

  it("checks each request of a connection on its own", async () => {
    const port = await createUpstream(() => "fine");
    const { http } = await createProxy({ deny: ["bad.test"] });
    const request = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`;
    const last = request.replace("\r\n", "\r\nConnection: close\r\n");
    const answers = await exchange(http, `${request}GET http://bad.test/ HTTP/1.1\r\n\r\n${last}`);
    expect(answers.match(/HTTP\/1\.1 \d{3}/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 403", "HTTP/1.1 200"]);
  });
});

describe("limited mode", () => {
  it("admits only HTTP requests that change nothing, and no upgrade", async () => {
    const port = await createUpstream((request) => `upgrade ${request.headers.upgrade}`);
    const { http, socks, decisions } = await createProxy({ mode: "limited" });
    const url = `http://127.0.0.1:${port}/`;
    expect(await exchange(http, get(url, ["Connection: Upgrade", "Upgrade: echo"]))).toContain(
      "upgrade undefined",
    );
    const posted = await exchange(http, get(url, ["Content-Length: 0"], "", "POST"));
    expect(posted).toContain('"reason":"method_not_allowed","decision":"deny","source":"mode_guard"');
    expect(await exchange(http, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toContain("MITM required");
    expect(await exchange(socks, socksRequest("127.0.0.1", port))).toBe(socksReply(2));
    expect(decisions.filter(({ decision }) => decision === "deny").map(({ reason }) => reason)).toEqual([
      "method_not_allowed",
      "mitm_required",
      "method_not_allowed",
    ]);
  });
});

describe("the SOCKS proxy", () => {
  it("tunnels to names and addresses, whatever the pieces in which a request comes", async () => {
    const port = await createRawUpstream((socket) => {
      void collect(socket).then((received) => socket.end(`got ${received}`));
    });
    const { socks } = await createProxy({ names: { "a.test": ["127.0.0.1"] } });
    const whole = Buffer.concat([socksRequest("a.test", port), Buffer.from("hello")]);
    expect(await exchangeAndEnd(socks, whole)).toBe(`${socksReply(0)}got hello`);
    const socket = dial(socks, { allowHalfOpen: true });
    const received = collect(socket);
    for (const byte of whole) {
      socket.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
    expect(await received).toMatch(/got hello$/);
  });

  it("says that a host is not allowed, and that it cannot be reached", async () => {
    const { socks } = await createProxy({ deny: ["bad.test"] });
    expect(await exchange(socks, socksRequest("bad.test", 1))).toBe(socksReply(2));
    expect(await exchange(socks, socksRequest("no-such-name.test", 1))).toBe(socksReply(5));
  });
});

describe("addresses", () => {
  it("are checked after the name is resolved, and no other is connected to", async () => {
    const port = await createUpstream(() => "reached");
    let lookups = 0;
    // The second answer is what an attacker wants the connection to use.
    const rebinding: Lookup = async () => {
      lookups += 1;
      return [{ address: lookups === 1 ? "192.0.2.1" : "127.0.0.1", family: 4 }];
    };
    const { http, decisions } = await createProxy({ allowLocal: false, lookup: rebinding });
    expect(await exchange(http, get(`http://rebound.test:${port}/`))).toContain("not_allowed_local");
    expect([lookups, decisions.length]).toEqual([1, 1]);
    const once = await createProxy({ lookup: rebinding });
    expect(await exchange(once.http, get(`http://rebound.test:${port}/`))).toContain("reached");
    expect(lookups).toBe(2);
  });

  it.each([
    ["a.test", ["10.0.0.1"]],
    ["a.test", ["1.1.1.1", "127.0.0.1"]],
    ["a.test", ["::ffff:169.254.169.254"]],
    ["2130706433", ["127.0.0.1"]],
    ["no-such-name.test", []],
  ])("of %s, %j, are refused where local ones are, even if the name is allowed", async (name, addresses) => {
    const { http } = await createProxy({ allowLocal: false, allow: [name], names: { [name]: addresses } });
    const answer = await exchange(
      http,
      get(`http://x/`)
        .replace("http://x/", `http://${name}/`)
        .replace(/Host: x\r\n/, ""),
    );
    expect(answer).toContain("not_allowed_local");
  });

  it("of this server's own listeners are out of reach", async () => {
    const port = await createUpstream(() => "commands");
    const { http, socks } = await createProxy({ isOwn: (ip, own) => ip === "127.0.0.1" && own === port });
    expect(status(await exchange(http, get(`http://127.0.0.1:${port}/`)))).toBe("403");
    expect(status(await exchange(http, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`))).toBe("403");
    expect(await exchange(socks, socksRequest("127.0.0.1", port))).toBe(socksReply(2));
  });
});

describe("the client's decision", () => {
  it("is asked for what is not allowed, and only for that", async () => {
    const port = await createUpstream(() => "reached");
    const asked: Attempt[] = [];
    const { http, decisions } = await createProxy({
      allow: [],
      deny: ["bad.test"],
      ask: async (attempt) => {
        asked.push(attempt);
        return { type: "allow" };
      },
    });
    expect(await exchange(http, get(`http://127.0.0.1:${port}/`))).toContain("reached");
    expect(status(await exchange(http, get("http://bad.test/")))).toBe("403");
    expect(asked).toMatchObject([{ host: "127.0.0.1", port, protocol: "http" }]);
    expect(decisions[0]).toMatchObject({ source: "decider", reason: "not_allowed", policyOverride: true });
  });

  it.each(["deny", "ask"] as const)("%s blocks, with its reason", async (type) => {
    const { http } = await createProxy({ allow: [], ask: async () => ({ type, reason: "too far" }) });
    const answer = await exchange(http, get("http://a.test/"));
    expect(answer).toContain("x-proxy-error: blocked-by-policy");
    expect(answer).toContain(`"reason":"too far","decision":"${type}","source":"decider"`);
  });

  it("does not make a local address public", async () => {
    const { http } = await createProxy({
      allow: [],
      allowLocal: false,
      names: { "a.test": ["127.0.0.1"] },
      ask: async () => ({ type: "allow" }),
    });
    expect(await exchange(http, get("http://a.test/"))).toContain("not_allowed_local");
  });

  it("is no longer waited for when the proxy ends", async () => {
    let aborted: Promise<unknown> | undefined;
    const { proxy, http } = await createProxy({
      allow: [],
      ask: (_attempt, signal) => {
        aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
        return aborted.then(() => ({ type: "deny", reason: "" }));
      },
    });
    const socket = dial(http);
    socket.write("GET http://a.test/ HTTP/1.1\r\n\r\n");
    await expect.poll(() => aborted !== undefined).toBe(true);
    proxy.close();
    await Promise.all([aborted, once(socket, "close")]);
  });
});

describe("a proxy that ends", () => {
  it("takes every connection and tunnel with it, half-closed ones too", async () => {
    const outer: Socket[] = [];
    const port = await createRawUpstream((socket) => {
      outer.push(socket);
      socket.resume();
    });
    const { proxy, http, socks } = await createProxy();
    const tunnelled = dial(http);
    tunnelled.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await once(tunnelled, "data");
    const half = dial(socks, { allowHalfOpen: true });
    half.write(socksRequest("127.0.0.1", port));
    await once(half, "data");
    half.end();
    const waiting = dial(http);
    waiting.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`);
    await expect.poll(() => outer.filter((socket) => socket.readableEnded).length).toBe(1);
    await expect.poll(() => outer.length).toBe(3);
    const closed = [tunnelled, half, waiting].map((socket) => once(socket.resume(), "close"));
    // Its peers can only see that nothing more comes.
    const ended = outer.filter((socket) => !socket.readableEnded).map((socket) => once(socket, "end"));
    expect(ended).toHaveLength(2);
    proxy.close();
    await Promise.all([...closed, ...ended]);
    expect(await exchange(http, "GET / HTTP/1.1\r\n\r\n")).toBe("");
  });
});

describe("limits", () => {
  it("pipelined requests cannot open any number of connections", async () => {
    let open = 0;
    const port = await createRawUpstream(() => {
      open += 1;
    });
    const { http } = await createProxy();
    const answers = exchange(http, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`.repeat(1000));
    await expect.poll(() => open).toBe(128);
    for (const clean of cleanups.splice(0)) clean();
    await answers;
    expect(open).toBe(128);
  });

  it("idle connections beyond the limit are refused, and others are served again when they have gone", async () => {
    const port = await createUpstream(() => "fine");
    const { http } = await createProxy();
    const idle = Array.from({ length: 128 }, () => dial(http));
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    for (let count = 0; count < 20; count += 1) await once(dial(http).resume(), "close");
    for (const socket of idle) socket.destroy();
    await expect.poll(async () => status(await exchange(http, get(`http://127.0.0.1:${port}/`)))).toBe("200");
  });

  it("the sockets of all processes together are limited, and are given back", async () => {
    const port = await createUpstream(() => "fine");
    const sockets = new SharedLimit(4);
    const first = await createProxy({ sockets });
    const second = await createProxy({ sockets });
    const idle = Array.from({ length: 3 }, () => dial(first.http));
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    // One is left for the connection to the proxy, and none for the one that leads out.
    const url = `http://127.0.0.1:${port}/`;
    await expect.poll(async () => status(await exchange(second.http, get(url)))).toBe("503");
    for (const socket of idle) socket.destroy();
    await expect.poll(async () => status(await exchange(second.http, get(url)))).toBe("200");
    first.proxy.close();
    second.proxy.close();
    await expect
      .poll(() => [1, 2, 3, 4, 5].map(() => sockets.take()))
      .toEqual([true, true, true, true, false]);
  });

  it("a reader that does not read stops the sender", async () => {
    let written = 0;
    const port = await createRawUpstream((socket) => {
      const piece = Buffer.alloc(64 * 1024);
      const fill = (): void => {
        while (!socket.destroyed && written < 200 * 1024 * 1024) {
          written += piece.length;
          if (!socket.write(piece)) break;
        }
      };
      socket.on("drain", fill);
      fill();
    });
    const { http } = await createProxy();
    const socket = dial(http);
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    socket.pause();
    // Full when nothing moves between two looks.
    let before = -1;
    await expect
      .poll(
        () => {
          const still = before === written;
          before = written;
          return still;
        },
        { interval: 200, timeout: 10_000 },
      )
      .toBe(true);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });
});

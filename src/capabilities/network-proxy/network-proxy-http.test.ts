import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import {
  closeProxiesAfterEach,
  collect,
  createProxy,
  createRawUpstream,
  createUpstream,
  exchange,
  exchangeAndEnd,
  get,
  listen,
  socksReply,
  socksRequest,
  status,
} from "../../../test/fixtures/proxy-scene.ts";

closeProxiesAfterEach();

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

  it("answers `Expect: 100-continue` only if the request may continue", async () => {
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

  it("answers 502 without a listener, or if the answer is invalid", async () => {
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

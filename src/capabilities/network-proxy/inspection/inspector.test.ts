import { createServer } from "node:http";
import type { Socket } from "node:net";
import { once } from "node:events";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { withDeadline } from "../../../../test/fault/deadline.ts";
import {
  createMaskedScene,
  createSecureUpstream,
  openSecureTunnel,
  providerFor,
  request,
  SECRET,
} from "../../../../test/fixtures/inspection-scene.ts";
import {
  closeProxiesAfterEach,
  cleanups,
  collect,
  createRawUpstream,
  createUpstream,
  dial,
  exchange,
  get,
  listen,
  status,
} from "../../../../test/fixtures/proxy-scene.ts";

closeProxiesAfterEach();

/** The name of a secret's host leads to a server that has a good certificate of another name. */
async function createImpostorScene() {
  const scene = await createMaskedScene({
    provider: (port) => providerFor([`https://impostor.test:${port}`]),
    names: { "impostor.test": ["127.0.0.1"] },
    upstreamName: "localhost",
  });
  const host = `impostor.test:${scene.upstream.port}`;
  return {
    standIn: scene.standIn,
    answerOf: async (headers: readonly string[]): Promise<string> => {
      const socket = await scene.tunnel("impostor.test");
      const answer = collect(socket);
      socket.write(request(host, "/", headers));
      return answer;
    },
  };
}

/** An answer without the lengths of its chunks. */
function unchunked(answer: string): string {
  return answer.replaceAll(/\r\n[0-9a-f]+\r\n/g, "");
}

/** What the upstream received. */
function received(answer: string): { method: string; url: string; rawHeaders: string[]; body: string } {
  return JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1));
}

describe("a request to the host of a secret", () => {
  it("arrives with the secret where its provider says, and comes back without it", async () => {
    const seen: string[] = [];
    const { ask, standIn } = await createMaskedScene({
      answer: (incoming, response) => {
        seen.push(incoming.headers.authorization ?? String(incoming.headers["x-key"]));
        response.end(`you sent ${seen.at(-1)}`);
      },
    });
    expect(standIn).not.toBe(SECRET);
    const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;
    for (const [header, arrives] of [
      [`Authorization: Bearer ${standIn}`, `Bearer ${SECRET}`],
      [`Authorization: token ${standIn}`, `token ${SECRET}`],
      [`authorization: ${basic(`user:${standIn}`)}`, basic(`user:${SECRET}`)],
      [`authorization: ${basic(`${standIn}:`)}`, basic(`${SECRET}:`)],
      [`X-KEY: ${standIn}`, SECRET],
    ] as const) {
      const answer = await ask("/v1/x", [header]);
      expect(seen.at(-1)).toBe(arrives);
      expect(answer).not.toContain(arrives);
      expect(answer).toContain(`you sent ${header.slice(header.indexOf(": ") + 2)}`.slice(0, 24));
    }
  });

  it("carries the stand-in anywhere else", async () => {
    const seen: string[] = [];
    const { ask, standIn } = await createMaskedScene({
      answer: (incoming, response) => {
        const parts: Buffer[] = [];
        incoming.on("data", (part: Buffer) => parts.push(part));
        incoming.on("end", () => {
          seen.push([incoming.url, ...incoming.rawHeaders, Buffer.concat(parts).toString()].join(" "));
          response.end();
        });
      },
    });
    const bearer = `Authorization: Bearer ${standIn}`;
    for (const path of ["/v2", "/v10", "/v1/../v2", "/v1/%2e%2e/v2", "/v1//x", "/v1/..%2fv2", "/v1\\x", "/"])
      await ask(path, [bearer]);
    await ask("/v1/x", [`X-Other: ${standIn}`]);
    await ask("/v1/x", [`Authorization: Bearer x${standIn}`]);
    await ask("/v1/x", [`Authorization: Digest ${standIn}`]);
    await ask(`/v1/x?key=${standIn}`);
    await ask("/v1/x", [], "POST", standIn);
    expect(seen).toHaveLength(13);
    for (const each of seen) expect(each).not.toContain(SECRET);
  });

  it("uses one connection for the requests of a tunnel", async () => {
    const sockets = new Set<unknown>();
    const { tunnel, upstream, standIn } = await createMaskedScene({
      answer: (incoming, response) => {
        sockets.add(incoming.socket);
        response.end(`${incoming.url} done`);
      },
    });
    const socket = await tunnel();
    const host = `localhost:${upstream.port}`;
    for (const path of ["/v1/1", "/v1/2"]) {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${standIn}\r\n\r\n`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).toContain("200 OK");
    }
    const all = collect(socket);
    socket.write(request(host, "/v1/3") + request(host, "/v1/4"));
    await all;
    expect(sockets.size).toBe(1);
  });

  it("may begin TLS together with CONNECT", async () => {
    const { http, upstream, own } = await createMaskedScene();
    const secure = await openSecureTunnel(http, {
      host: "localhost",
      port: upstream.port,
      ca: own.certificate,
    });
    expect(secure.getPeerCertificate().subjectaltname).toBe("DNS:localhost");
    expect(secure.authorized).toBe(true);
  });
});

describe("an inspected tunnel", () => {
  it("refuses a host that is not the tunnel's", async () => {
    const { tunnel, upstream } = await createMaskedScene();
    const { port } = upstream;
    for (const text of [
      request("other.test", "/v1/x"),
      request(`localhost:${port + 1}`, "/v1/x"),
      request("localhost", "/v1/x"),
      request(`localhost:${port}`, `https://other.test/v1/x`),
      `GET /v1/x HTTP/1.1\r\nConnection: close\r\n\r\n`,
      `GET /v1/x HTTP/1.1\r\nConnection: close\r\nHost: localhost:${port}\r\nHost: other.test\r\n\r\n`,
    ]) {
      const socket = await tunnel();
      const answer = collect(socket);
      socket.write(text);
      expect(status(await answer)).toBe("400");
    }
    const socket = await tunnel();
    const answer = collect(socket);
    socket.write(request(`localhost:${port}`, `https://localhost:${port}/v1/x`));
    expect(received(await answer).url).toBe("/v1/x");
  });

  it("refuses CONNECT, unknown codings and two lengths", async () => {
    const { tunnel, upstream } = await createMaskedScene();
    const host = `localhost:${upstream.port}`;
    for (const [text, expected] of [
      [`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, "405"],
      [request(host, "/v1", ["Transfer-Encoding: gzip, chunked"], "POST"), "501"],
      [`POST /v1 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`, "400"],
      [
        `POST /v1 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na`,
        "400",
      ],
    ] as const) {
      const socket = await tunnel();
      const answer = collect(socket);
      socket.write(text);
      expect(status(await answer)).toBe(expected);
    }
  });

  it("says what is wrong with an upstream", async () => {
    const { ask, standIn } = await createMaskedScene({ isTrusted: false });
    const answer = await ask("/v1/x", [`Authorization: Bearer ${standIn}`]);
    expect(status(answer)).toBe("502");
    expect(answer).toMatch(/upstream failure: .* \((UNABLE|SELF)/);
    const dead = await createMaskedScene();
    dead.upstream.server.close();
    expect(status(await dead.ask("/v1/x"))).toBe("502");
  });

  it("does not believe an upstream that is somebody else", async () => {
    const { answerOf, standIn } = await createImpostorScene();
    const answer = await answerOf([`Authorization: Bearer ${standIn}`]);
    expect(status(answer)).toBe("502");
    expect(answer).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  });

  it("passes uploads and downloads on as they come", async () => {
    const { tunnel, upstream } = await createMaskedScene({
      answer: (incoming, response) => {
        response.flushHeaders();
        incoming.on("data", (part: Buffer) => response.write(part));
        incoming.on("end", () => response.end());
      },
    });
    const socket = await tunnel();
    socket.write(
      `POST /v1 HTTP/1.1\r\nHost: localhost:${upstream.port}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    await once(socket, "data");
    for (const word of ["one\n", "two\n", "three\n"]) {
      socket.write(`${word.length}\r\n${word}\r\n`);
      const [part] = (await once(socket, "data")) as [Buffer];
      expect(part.toString()).toContain(word);
    }
    socket.write("0\r\n\r\n");
    await once(socket, "data");
  });

  it("passes a long answer on to its end", async () => {
    const whole = Buffer.alloc(1024 * 1024, "some text that is not a secret\n");
    const { ask } = await createMaskedScene({
      answer: (_, response) => {
        response.writeHead(200, { "content-length": whole.length });
        response.end(whole);
      },
    });
    const answer = await ask("/v1");
    expect(answer.slice(answer.indexOf("\r\n\r\n") + 4) === whole.toString()).toBe(true);
  });

  it("passes WebSockets on, and restores what they say", async () => {
    const { tunnel, upstream, standIn } = await createMaskedScene();
    upstream.http.on("upgrade", (incoming, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      const hello = `hello ${incoming.headers.authorization} ${incoming.headers["sec-websocket-extensions"]};`;
      socket.write(Buffer.concat([Buffer.from([0x81, hello.length]), Buffer.from(hello)]));
      socket.on("data", (bytes: Buffer) => socket.write(bytes));
    });
    const socket = await tunnel();
    let all = "";
    socket.on("data", (bytes: Buffer) => (all += bytes));
    socket.write(
      // Frames of a client are masked; this host repeats what it gets.
      `GET /v1 HTTP/1.1\r\nHost: localhost:${upstream.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${standIn}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n\x81\x05early`,
      "latin1",
    );
    await expect.poll(() => all).toContain("early");
    expect(all).toContain("101 Switching Protocols");
    expect(all).toContain(`hello Bearer ${standIn} undefined;`);
  });

  it("holds limited mode, for every host", async () => {
    const { ask, standIn, tunnel, foreign } = await createMaskedScene({ mode: "limited" });
    const header = [`Authorization: Bearer ${standIn}`];
    expect(received(await ask("/v1/x", header)).rawHeaders).toContain(`Bearer ${standIn}`);
    const refused = await ask("/v1/x", header, "POST", "x");
    expect(status(refused)).toBe("403");
    expect(refused).toContain("blocked-by-method-policy");
    const other = await createSecureUpstream(foreign);
    const socket = await tunnel("localhost", other.port);
    const answer = collect(socket);
    socket.write(request(`localhost:${other.port}`, "/", [], "DELETE"));
    expect(status(await answer)).toBe("403");
  });

  it("is not made for other hosts", async () => {
    const { tunnel, foreign, own, standIn } = await createMaskedScene();
    const other = await createSecureUpstream(foreign);
    const socket = await tunnel("localhost", other.port);
    const answer = collect(socket);
    socket.write(request(`localhost:${other.port}`, "/v1/x", [`Authorization: Bearer ${standIn}`]));
    expect(received(await answer).rawHeaders).toContain(`Bearer ${standIn}`);
    expect(own.size).toBe(0);
  });

  it("ends with the proxy", async () => {
    const { tunnel, proxy, upstream } = await createMaskedScene({ answer: () => {} });
    const socket = await tunnel();
    socket.write(`GET /v1 HTTP/1.1\r\nHost: localhost:${upstream.port}\r\n\r\n`);
    const [incoming] = await once(upstream.http, "request");
    const gone = [incoming.socket, socket].map(
      (each) => new Promise((resolve) => each.once("close", resolve)),
    );
    proxy.close();
    await Promise.all(gone);
  });
});

it("does not go on connecting for a tunnel that has ended", async () => {
  const connections: Socket[] = [];
  // It never says anything, so TLS never begins.
  const silent = await createRawUpstream((socket) => {
    connections.push(socket);
    socket.resume();
  });
  const { tunnel } = await createMaskedScene({
    provider: () => providerFor([`https://localhost:${silent}`]),
  });
  const socket = await tunnel("localhost", silent);
  socket.write(request(`localhost:${silent}`, "/"));
  await expect.poll(() => connections).toHaveLength(1);
  const ended = new Promise((resolve) => connections[0]!.once("end", resolve));
  socket.destroy();
  await withDeadline(ended, 10_000, () => "the end of the outer connection");
});

describe("an answer that repeats the secret", () => {
  it.each(["gzip", "deflate", "br"] as const)(
    "is looked through even if it is compressed with %s",
    async (coding) => {
      const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }[coding];
      const { ask, standIn } = await createMaskedScene({
        answer: (incoming, response) => {
          response.writeHead(200, { "content-encoding": coding });
          response.end(compress(`${incoming.headers["accept-encoding"]} ${incoming.headers.authorization}`));
        },
      });
      const answer = await ask("/v1", [`Authorization: Bearer ${standIn}`, "Accept-Encoding: gzip, br"]);
      expect(unchunked(answer)).toContain(`identity Bearer ${standIn}`);
      expect(answer.toLowerCase()).not.toContain("content-encoding");
    },
  );

  it("is refused if it cannot be looked through", async () => {
    const { ask, standIn } = await createMaskedScene({
      answer: (_incoming, response) => {
        response.writeHead(200, { "content-encoding": "zstd" });
        response.end("x");
      },
    });
    expect(status(await ask("/v1", [`Authorization: Bearer ${standIn}`]))).toBe("502");
  });

  it("is restored however it is cut, and not held back otherwise", async () => {
    const { tunnel, upstream, standIn } = await createMaskedScene({
      answer: (incoming, response) => {
        response.setHeader("Set-Cookie", `k=${SECRET}`);
        void (async () => {
          for (const letter of `data: ${SECRET}\n`) {
            response.write(letter);
            await new Promise((resolve) => setImmediate(resolve));
          }
          incoming.on("close", () => response.end());
        })();
      },
    });
    const socket = await tunnel();
    let all = "";
    socket.on("data", (bytes: Buffer) => (all += bytes));
    socket.write(`GET /v1 HTTP/1.1\r\nHost: localhost:${upstream.port}\r\n\r\n`);
    // The answer does not end: what has been decided must not wait for more.
    await expect.poll(() => unchunked(all)).toContain(`${standIn}\n`);
    expect(all).not.toContain(SECRET);
    expect(all).toContain(`k=${standIn}`);
  });

  it("is restored in clear, too", async () => {
    const port = await listen(
      createServer((incoming, response) => response.end(`got ${incoming.headers.authorization}`)),
    );
    const { http, standIn } = await createMaskedScene({ provider: () => providerFor([`localhost:${port}`]) });
    const answer = await exchange(
      http,
      get(`http://localhost:${port}/`, [`Authorization: Bearer ${standIn}`]),
    );
    expect(answer).toContain(`got Bearer ${standIn}`);
  });
});

describe("a stand-in on its way elsewhere", () => {
  it("is refused and reported, where the proxy sees it", async () => {
    const port = await createUpstream();
    const { http, standIn, decisions } = await createMaskedScene();
    const basic = Buffer.from(`u:${standIn}`).toString("base64");
    const url = `http://127.0.0.1:${port}`;
    for (const text of [
      get(`${url}/`, [`Authorization: Bearer ${standIn}`]),
      get(`${url}/`, [`Authorization: Basic ${basic}`]),
      get(`${url}/?k=${standIn}`),
      get(`${url}/?k=%6b${standIn.slice(1)}`),
    ]) {
      const answer = await exchange(http, text);
      expect(status(answer)).toBe("403");
      expect(answer).toContain('"reason":"stand_in_misdirected"');
    }
    expect(decisions.filter(({ reason }) => reason === "stand_in_misdirected")).toHaveLength(4);
    expect(status(await exchange(http, get(`${url}/`)))).toBe("200");
  });
});

it("leaves nothing open for a client that does not speak TLS", async () => {
  const { http, upstream } = await createMaskedScene();
  const socket = dial(http);
  socket.write(`CONNECT localhost:${upstream.port} HTTP/1.1\r\nHost: localhost:${upstream.port}\r\n\r\n`);
  await once(socket, "data");
  const closed = once(socket, "close");
  socket.write("GET / HTTP/1.1\r\n\r\n");
  await closed;
  expect(cleanups.length).toBeGreaterThan(0);
});

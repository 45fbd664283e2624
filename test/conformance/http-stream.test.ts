import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import {
  type Answer,
  always,
  CHUNKED_HEAD,
  chunk,
  head,
  httpRequest,
  LAST_CHUNK,
  onUpstream,
  pathOf,
  response,
  sendingFailed,
  withUpstream,
} from "./http-upstream.ts";
import { openWebSocketPeer, type Message, type RawPeer } from "./raw-peer.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

const DELTA = "http/request/bodyDelta";
const STREAM = { streamResponse: true };
const MAX_DELTA_BYTES = 1_048_576;
const STREAM_TIMEOUT_MS = 25_000;
const DECODING_FAILED = "error decoding response body";

interface Delta {
  seq: number;
  deltaBase64: string;
  done: boolean;
  error: string | null;
}

function isDelta(message: Message, requestId: string): boolean {
  return message.method === DELTA && message.params.requestId === requestId;
}

function deltasOf(connection: RawPeer, requestId: string): Delta[] {
  return connection.notifications
    .filter((message) => isDelta(message, requestId))
    .map(({ params }) => params);
}

async function nextDelta(connection: RawPeer, requestId = "r"): Promise<Delta> {
  const message = await connection.next(
    (candidate) => isDelta(candidate, requestId),
    STREAM_TIMEOUT_MS,
    "delta",
  );
  return message.params;
}

/** Waits for the end of a stream; returns its bytes and what was said at the end. */
async function readStream(connection: RawPeer, requestId = "r") {
  await connection.next(
    (message) => isDelta(message, requestId) && message.params.done,
    STREAM_TIMEOUT_MS,
    `end of the stream ${requestId}`,
  );
  const deltas = deltasOf(connection, requestId);
  const bytes = Buffer.concat(deltas.map(({ deltaBase64 }) => Buffer.from(deltaBase64, "base64")));
  return { deltas, bytes, error: deltas.at(-1)?.error ?? null };
}

/** Sends the head of a long body and its beginning; the rest is left to the test. */
const beginning: Answer = ({ socket }) => void socket.write(`${head(10)}hello`);

verifies(
  "http-stream:order",
  onUpstream(always(200, ["X-A: b"], "hello"), async ({ connection, send }) => {
    expect(await send("/", STREAM)).toEqual({
      status: 200,
      headers: [
        { name: "x-a", value: "b" },
        { name: "content-length", value: "5" },
      ],
      bodyBase64: "",
    });
    await readStream(connection);
    const kinds = connection.rawMessages
      .map((text): Message => JSON.parse(text))
      .filter(({ method, result }) => method === DELTA || result?.status === 200)
      .map(({ method }) => method ?? "answer");
    expect(kinds).toEqual(["answer", ...kinds.slice(1).map(() => DELTA)]);
    expect(kinds.length).toBeGreaterThanOrEqual(3);
  }),
);

verifies(
  "http-stream:delta",
  onUpstream(always(200, [], "hello"), async ({ connection, send }) => {
    await send("/", { ...STREAM, requestId: "id" });
    await readStream(connection, "id");
    expect(connection.rawMessages.slice(-2)).toEqual([
      `{"method":"${DELTA}","params":{"requestId":"id","seq":1,"deltaBase64":"aGVsbG8=","done":false,"error":null}}`,
      `{"method":"${DELTA}","params":{"requestId":"id","seq":2,"deltaBase64":"","done":true,"error":null}}`,
    ]);
  }),
);

verifies("http-stream:sequence", async (context) => {
  const answer: Answer = ({ socket }) => {
    socket.write(CHUNKED_HEAD);
    for (let index = 0; index < 500; index += 1) socket.write(chunk(`${index},`));
    socket.write(LAST_CHUNK);
  };
  await onUpstream(answer, async ({ connection, send }) => {
    await send("/", STREAM);
    const { deltas, bytes } = await readStream(connection);
    expect(deltas.map(({ seq }) => seq)).toEqual(deltas.map((_, index) => index + 1));
    expect(deltas.map(({ done }) => done)).toEqual(deltas.map((_, index) => index === deltas.length - 1));
    expect(bytes.toString()).toBe(Array.from({ length: 500 }, (_, index) => `${index},`).join(""));
    // Nothing follows the end.
    await connection.request("environment/status");
    expect(deltasOf(connection, "r")).toHaveLength(deltas.length);
  })(context);
});

verifies(
  "http-stream:last",
  onUpstream(always(200, [], "hello"), async ({ connection, send }) => {
    await send("/", STREAM);
    const { deltas } = await readStream(connection);
    expect(deltas.at(-1)).toMatchObject({ deltaBase64: "", done: true, error: null });
    for (const delta of deltas.slice(0, -1)) expect(delta.deltaBase64).not.toBe("");
  }),
);

verifies(
  "http-stream:empty",
  onUpstream(
    (request) => {
      const text = {
        "/head": head(500),
        "/204": "HTTP/1.1 204 X\r\n\r\n",
        "/304": "HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n",
        "/chunked": CHUNKED_HEAD + LAST_CHUNK,
      }[pathOf(request)];
      request.socket.write(text ?? response(200));
    },
    async ({ connection, send }) => {
      for (const [requestId, method] of [
        ["/length", "GET"],
        ["/head", "HEAD"],
        ["/204", "GET"],
        ["/304", "GET"],
        ["/chunked", "GET"],
      ] as const) {
        await send(requestId, { ...STREAM, method, requestId });
        expect((await readStream(connection, requestId)).deltas).toEqual([
          { requestId, seq: 1, deltaBase64: "", done: true, error: null },
        ]);
      }
    },
  ),
);

verifies(
  "http-stream:at-once",
  onUpstream(beginning, async ({ connection, send, upstream }) => {
    await send("/", STREAM);
    expect(await nextDelta(connection)).toMatchObject({ seq: 1, deltaBase64: base64("hello"), done: false });
    (await upstream.request(1)).socket.write("world");
    expect(await nextDelta(connection)).toMatchObject({ seq: 2, deltaBase64: base64("world"), done: false });
    expect(await nextDelta(connection)).toMatchObject({ seq: 3, done: true, error: null });
  }),
);

verifies(
  "http-stream:statuses",
  onUpstream(
    (request) => always(Number(pathOf(request).slice(1)), [], "body")(request),
    async ({ connection, send }) => {
      for (const status of [404, 500, 999]) {
        const requestId = `${status}`;
        expect(await send(`/${status}`, { ...STREAM, requestId })).toMatchObject({ status, bodyBase64: "" });
        expect((await readStream(connection, requestId)).bytes.toString()).toBe("body");
      }
    },
  ),
);

verifies("http-stream:raw", async (context) => {
  const zipped = gzipSync("hello");
  const answer: Answer = ({ socket }) => {
    socket.write(head(zipped.length, ["Content-Encoding: gzip"]));
    socket.write(zipped);
  };
  await onUpstream(answer, async ({ connection, send }) => {
    await send("/", STREAM);
    expect((await readStream(connection)).bytes.equals(zipped)).toBe(true);
  })(context);
});

verifies(
  "http-stream:redirects",
  onUpstream(
    (request) => {
      const first = pathOf(request) === "/first";
      request.socket.write(first ? response(302, ["Location: /end"], "moved") : response(200, [], "end"));
    },
    async ({ connection, send }) => {
      expect(await send("/first", { ...STREAM, requestId: "a" })).toMatchObject({ status: 200 });
      expect((await readStream(connection, "a")).bytes.toString()).toBe("end");
      const stop = { ...STREAM, requestId: "b", redirectPolicy: "stop" };
      expect(await send("/first", stop)).toMatchObject({ status: 302 });
      expect((await readStream(connection, "b")).bytes.toString()).toBe("moved");
    },
  ),
);

verifies("http-stream:size", async (context) => {
  const bytes = randomBytes(3 * MAX_DELTA_BYTES + 1);
  const answer: Answer = ({ socket }) => {
    socket.write(CHUNKED_HEAD);
    socket.write(chunk(bytes));
    socket.write(LAST_CHUNK);
  };
  await onUpstream(answer, async ({ connection, send }) => {
    await send("/", STREAM);
    const stream = await readStream(connection);
    const sizes = stream.deltas.map(({ deltaBase64 }) => Buffer.from(deltaBase64, "base64").length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_DELTA_BYTES);
    expect(stream.bytes.equals(bytes)).toBe(true);
  })(context);
});

verifies("http-stream:large", async (context) => {
  const bytes = randomBytes(20 * 1024 * 1024);
  const answer: Answer = ({ socket }) => {
    socket.write(head(bytes.length));
    socket.write(bytes);
  };
  await onUpstream(answer, async ({ connection, send }) => {
    await send("/", STREAM);
    const stream = await readStream(connection);
    expect({ equal: stream.bytes.equals(bytes), error: stream.error }).toEqual({ equal: true, error: null });
  })(context);
});

verifies("http-stream:truncated", async (context) => {
  const answers: Answer[] = [
    ({ socket }) => void socket.end(`${head(10)}hello`),
    ({ socket }) => void socket.end(Buffer.concat([Buffer.from(CHUNKED_HEAD), chunk("hello")])),
  ];
  for (const answer of answers) {
    await onUpstream(answer, async ({ connection, send }) => {
      expect(await send("/", STREAM)).toMatchObject({ status: 200 });
      const { deltas, bytes } = await readStream(connection);
      expect(bytes.toString()).toBe("hello");
      expect(deltas.at(-1)).toMatchObject({ deltaBase64: "", done: true, error: DECODING_FAILED });
      expect(deltas.slice(0, -1).map(({ error }) => error)).toEqual(deltas.slice(1).map(() => null));
    })(context);
  }
});

verifies(
  "http-stream:timeout",
  onUpstream(beginning, async ({ connection, send }) => {
    // Room for the head and its bytes to arrive on a machine that stands still for seconds.
    await send("/", { ...STREAM, timeoutMs: 5000 });
    const { bytes, error } = await readStream(connection);
    expect({ text: bytes.toString(), error }).toEqual({ text: "hello", error: DECODING_FAILED });
  }),
  { concurrent: true },
);

verifies(
  "http-stream:failed",
  onUpstream(
    ({ socket }) => void socket.end(),
    async ({ connection, send, upstream }) => {
      await expectError(send("/x", STREAM), -32603, sendingFailed(`${upstream.origin}/x`));
      await connection.request("environment/status");
      expect(deltasOf(connection, "r")).toEqual([]);
    },
  ),
);

verifies(
  "http-stream:duplicate",
  onUpstream(beginning, async ({ connection, send, upstream }) => {
    await send("/", { ...STREAM, requestId: "dup" });
    const message = "http/request streamResponse requestId `dup` is already active";
    await expectError(send("/", { ...STREAM, requestId: "dup" }), -32602, message);
    await expectError(httpRequest(connection, "nonsense", { ...STREAM, requestId: "dup" }), -32602, message);
    expect(upstream.requests).toHaveLength(1);
    (await upstream.request(1)).socket.write("world");
    expect((await readStream(connection, "dup")).bytes.toString()).toBe("helloworld");
  }),
);

verifies("http-stream:duplicate-pending", async ({ launch }) => {
  const server = await launch(["--concurrent-requests", "4"]);
  const connection = await openWebSocketPeer(await server.banner());
  try {
    await connection.handshake();
    await withUpstream(
      () => {},
      async (upstream) => {
        const first = httpRequest(connection, `${upstream.origin}/`, { ...STREAM, requestId: "dup" });
        const { socket } = await upstream.request(1);
        const second = httpRequest(connection, `${upstream.origin}/`, { ...STREAM, requestId: "dup" });
        const message = "http/request streamResponse requestId `dup` is already active";
        await expectError(second, -32602, message);
        socket.write(response(200, [], "body"));
        expect(await first).toMatchObject({ status: 200 });
        expect((await readStream(connection, "dup")).bytes.toString()).toBe("body");
      },
    );
  } finally {
    connection.drop();
  }
});

verifies(
  "http-stream:buffered-duplicate",
  onUpstream(
    (request) => (pathOf(request) === "/stream" ? beginning : always(200, [], "buffered"))(request),
    async ({ connection, send, upstream }) => {
      await send("/stream", STREAM);
      expect(fromBase64((await send("/")).bodyBase64)).toBe("buffered");
      (await upstream.request(1)).socket.write("world");
      expect((await readStream(connection)).bytes.toString()).toBe("helloworld");
    },
  ),
);

verifies(
  "http-stream:id-reuse",
  onUpstream(
    (request) => (pathOf(request) === "/bad" ? void request.socket.end() : always(200, [], "body")(request)),
    async ({ connection, send }) => {
      for (let turn = 1; turn <= 3; turn += 1) {
        await expectError(send("/bad", STREAM), -32603);
        await expectError(httpRequest(connection, "nonsense", STREAM), -32602);
        expect(await send("/good", STREAM)).toMatchObject({ status: 200 });
        await connection.next((message) => isDelta(message, "r") && message.params.done, STREAM_TIMEOUT_MS);
      }
      expect(deltasOf(connection, "r").map(({ seq }) => seq)).toEqual([1, 2, 1, 2, 1, 2]);
    },
  ),
);

verifies(
  "http-stream:other-connection",
  onUpstream(
    (request) => void request.socket.write(`${head(3)}${pathOf(request)}`),
    async ({ connection, peer, send, upstream }) => {
      const other = await peer();
      await send("/1", STREAM);
      await httpRequest(other, `${upstream.origin}/2`, STREAM);
      for (const { socket } of upstream.requests) socket.write("!");
      expect((await readStream(connection)).bytes.toString()).toBe("/1!");
      expect((await readStream(other)).bytes.toString()).toBe("/2!");
    },
  ),
);

verifies(
  "http-stream:empty-id",
  onUpstream(always(200, [], "body"), async ({ connection, send }) => {
    await send("/", { ...STREAM, requestId: "" });
    expect((await readStream(connection, "")).bytes.toString()).toBe("body");
  }),
);

verifies(
  "http-stream:several",
  onUpstream(
    (request) => void request.socket.write(`${head(3)}${pathOf(request)}`),
    async ({ connection, send, upstream }) => {
      for (const id of ["1", "2", "3"]) await send(`/${id}`, { ...STREAM, requestId: id });
      expect(await connection.request("environment/status")).toEqual({ status: "ready" });
      for (const id of ["3", "1", "2"]) {
        upstream.requests.find((request) => pathOf(request) === `/${id}`)?.socket.write("!");
        const { bytes, deltas } = await readStream(connection, id);
        expect(bytes.toString()).toBe(`/${id}!`);
        expect(deltas.map(({ seq }) => seq)).toEqual(deltas.map((_, index) => index + 1));
      }
    },
  ),
);

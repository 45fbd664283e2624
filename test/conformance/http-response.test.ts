import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import {
  type Answer,
  always,
  BODY_FAILED,
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
import { openWebSocketPeer } from "./raw-peer.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

/**
 * Time enough for a request, and the head of its answer, on a machine that stands still for seconds: the real server
 * needs some for its first one.
 */
const LIMIT_MS = 8000;
const CLOSE_TIMEOUT_MS = 15_000;

/** Answers with a text as it is, and ends the connection. */
function ending(text: string | Buffer): Answer {
  return ({ socket }) => void socket.end(text);
}

/** Never answers. */
const silent: Answer = () => {};

/** Fails when the promise is not settled in time. */
async function inTime<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not in time: ${what}`)), CLOSE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stops a process, and waits until all of its threads stand still. */
async function stopProcess(child: ChildProcess): Promise<void> {
  child.kill("SIGSTOP");
  const tasks = `/proc/${child.pid}/task`;
  const isStopped = (task: string) => readFileSync(`${tasks}/${task}/stat`, "utf8").includes(") T ");
  await pollUntil(
    () => readdirSync(tasks).every(isStopped),
    CLOSE_TIMEOUT_MS,
    () => "the stop of the server",
  );
}

verifies(
  "http-response:statuses",
  onUpstream(
    (request) => always(Number(pathOf(request).slice(1)), [], "body")(request),
    async ({ send }) => {
      for (const status of [200, 201, 206, 300, 400, 401, 404, 418, 500, 503, 599, 600, 999]) {
        const { status: got, bodyBase64 } = await send(`/${status}`);
        expect({ status: got, body: fromBase64(bodyBase64) }).toEqual({ status, body: "body" });
      }
    },
  ),
);

verifies(
  "http-response:informational",
  onUpstream(
    ({ socket }) => {
      socket.write("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
      socket.write(response(200, [], "body"));
    },
    async ({ send }) => {
      expect(await send("/")).toEqual({
        status: 200,
        headers: [{ name: "content-length", value: "4" }],
        bodyBase64: base64("body"),
      });
    },
  ),
);

/** Sends 100 before the answer, although the client did not ask whether to continue. */
const continuing: Answer = ({ socket }) =>
  void socket.write(`HTTP/1.1 100 Continue\r\n\r\n${response(200, [], "body")}`);

verifies(
  "http-response:continue",
  onUpstream(continuing, async ({ send }) => {
    expect(await send("/")).toMatchObject({ status: 200, bodyBase64: base64("body") });
  }),
);

verifies(
  "http-response:continue-refused",
  onUpstream(continuing, async ({ send, upstream }) => {
    await expectError(send("/x"), -32603, sendingFailed(`${upstream.origin}/x`));
  }),
);

verifies(
  "http-response:switching",
  onUpstream(
    ({ socket }) =>
      void socket.write("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw"),
    async ({ send }) => {
      const headers = ["Connection", "Upgrade"].map((name) => ({ name, value: name }));
      expect(await send("/", { headers })).toMatchObject({ status: 101, bodyBase64: "" });
    },
  ),
);

verifies(
  "http-response.headers:names",
  onUpstream(
    always(200, ["X-B: 1", "X-A: 2", "x-b: 3", "Set-Cookie: a", "SET-COOKIE: b"]),
    async ({ send }) => {
      const { headers } = await send("/");
      expect(headers.map(({ name, value }: Record<string, string>) => `${name}: ${value}`)).toEqual([
        "x-b: 1",
        "x-b: 3",
        "x-a: 2",
        "set-cookie: a",
        "set-cookie: b",
        "content-length: 0",
      ]);
    },
  ),
);

verifies(
  "http-response.headers:values",
  onUpstream(always(200, ["X-1:   a b  ", "X-2:", "X-3: a\tb", "X-4:no blank"]), async ({ send }) => {
    const { headers } = await send("/");
    expect(headers.slice(0, 4).map(({ value }: Record<string, string>) => value)).toEqual([
      "a b",
      "",
      "a\tb",
      "no blank",
    ]);
  }),
);

verifies(
  "http-response.headers:not-ascii",
  onUpstream(
    ({ socket }) =>
      void socket.write(
        Buffer.from(
          "HTTP/1.1 200 OK\r\nX-1: \xc3\xa9\r\nX-2: \xff\r\nX-3: a\r\nContent-Length: 0\r\n\r\n",
          "latin1",
        ),
      ),
    async ({ send }) => {
      const { headers } = await send("/");
      expect(headers.map(({ name }: Record<string, string>) => name)).toEqual(["x-3", "content-length"]);
    },
  ),
);

verifies("http-response.headers:many", async (context) => {
  const lines = Array.from({ length: 99 }, (_, index) => `X-${index}: ${index}`);
  await onUpstream(always(200, lines), async ({ send }) => {
    const { headers } = await send("/");
    expect(headers).toHaveLength(100);
    expect(headers[98]).toEqual({ name: "x-98", value: "98" });
  })(context);
  const long = "v".repeat(100_000);
  await onUpstream(always(200, [`X: ${long}`]), async ({ send }) => {
    expect((await send("/")).headers[0]).toEqual({ name: "x", value: long });
  })(context);
});

verifies("http-response.body:raw", async (context) => {
  const zipped = gzipSync("hello");
  const answer: Answer = ({ socket }) => {
    socket.write(head(zipped.length, ["Content-Encoding: gzip"]));
    socket.write(zipped);
  };
  await onUpstream(answer, async ({ send }) => {
    const { headers, bodyBase64 } = await send("/", {
      headers: [{ name: "Accept-Encoding", value: "gzip" }],
    });
    expect(headers[0]).toEqual({ name: "content-encoding", value: "gzip" });
    expect(bodyBase64).toBe(base64(zipped));
  })(context);
});

verifies(
  "http-response.body:none",
  onUpstream(
    (request) => {
      const status = { "/204": 204, "/304": 304 }[pathOf(request)] ?? 200;
      const length = status === 204 ? "" : "Content-Length: 500\r\n";
      request.socket.write(`HTTP/1.1 ${status} X\r\nX-A: b\r\n${length}\r\n`);
    },
    async ({ send }) => {
      const withLength = [
        { name: "x-a", value: "b" },
        { name: "content-length", value: "500" },
      ];
      const head = await send("/head", { method: "HEAD" });
      expect(head).toEqual({ status: 200, headers: withLength, bodyBase64: "" });
      expect(await send("/304")).toEqual({ status: 304, headers: withLength, bodyBase64: "" });
      expect(await send("/204")).toEqual({ status: 204, headers: withLength.slice(0, 1), bodyBase64: "" });
    },
  ),
);

verifies(
  "http-response.body:chunked",
  onUpstream(
    ({ socket }) =>
      void socket.write(`${CHUNKED_HEAD}3\r\nhel\r\n2;extension=1\r\nlo\r\n0\r\nX-Trailer: t\r\n\r\n`),
    async ({ send }) => {
      for (let turn = 0; turn < 2; turn += 1) {
        expect(await send("/")).toEqual({
          status: 200,
          headers: [{ name: "transfer-encoding", value: "chunked" }],
          bodyBase64: base64("hello"),
        });
      }
    },
  ),
);

verifies("http-response.body:until-close", async (context) => {
  for (const version of ["1.1", "1.0"]) {
    await onUpstream(ending(`HTTP/${version} 200 OK\r\n\r\nto the end`), async ({ send }) => {
      expect(await send("/")).toEqual({ status: 200, headers: [], bodyBase64: base64("to the end") });
    })(context);
  }
});

verifies("http-response.body:large", async (context) => {
  const bytes = randomBytes(20 * 1024 * 1024);
  const answer: Answer = ({ socket }) => {
    socket.write(head(bytes.length));
    socket.write(bytes);
  };
  await onUpstream(answer, async ({ send }) => {
    const { bodyBase64 } = await send("/");
    expect(Buffer.from(bodyBase64, "base64").equals(bytes)).toBe(true);
  })(context);
});

verifies("http-response.body:truncated", async (context) => {
  const answers = [
    ending(`${head(10)}hello`),
    ending(Buffer.concat([Buffer.from(CHUNKED_HEAD), chunk("hello")])),
    ending(`${CHUNKED_HEAD}zz\r\nhello\r\n${LAST_CHUNK}`),
  ];
  for (const answer of answers) {
    await onUpstream(answer, async ({ send }) => {
      const { message } = await expectError(send("/"), -32603);
      expect(message).toBe(BODY_FAILED);
    })(context);
  }
});

verifies("http-response:refused", async ({ peer }) => {
  const connection = await peer();
  const failure = httpRequest(connection, "http://user:pass@127.0.0.1:1/a?b#c");
  await expectError(failure, -32603, sendingFailed("http://127.0.0.1:1/a?b#c"));
});

verifies("http-response:https-refused", async ({ peer }) => {
  const url = "https://127.0.0.1:1/";
  await expectError(httpRequest(await peer(), url), -32603, sendingFailed(url));
});

verifies("http-response:no-answer", async (context) => {
  for (const text of ["", "HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-"]) {
    await onUpstream(ending(text), async ({ send, upstream }) => {
      await expectError(send("/x"), -32603, sendingFailed(`${upstream.origin}/x`));
    })(context);
  }
});

verifies("http-response:garbage", async (context) => {
  for (const text of [
    "hello there\r\n\r\n",
    "HTTP/1.1 1000 X\r\n\r\n",
    "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
  ]) {
    await onUpstream(ending(text), async ({ send, upstream }) => {
      await expectError(send("/x"), -32603, sendingFailed(`${upstream.origin}/x`));
    })(context);
  }
});

verifies(
  "http-response:conflicting-lengths",
  onUpstream(
    ending("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello"),
    async ({ send, upstream }) => {
      await expectError(send("/x"), -32603, sendingFailed(`${upstream.origin}/x`));
    },
  ),
);

/** What is read from answers written this way; the upstream then leaves the connection open. */
function reads(answers: Readonly<Record<string, string>>) {
  const texts = Object.values(answers);
  return onUpstream(
    ({ target, socket }) => void socket.write(Buffer.from(texts[Number(target.slice(1))] ?? "", "latin1")),
    async ({ send }) => {
      for (const [index, name] of Object.keys(answers).entries()) {
        const { status, bodyBase64 } = await send(`/${index}`, { timeoutMs: 10_000 });
        expect({ name, status, body: fromBase64(bodyBase64) }).toEqual({ name, status: 200, body: "hello" });
      }
    },
  );
}

const CHUNKS = "5\r\nhello\r\n0\r\n\r\n";

verifies(
  "http-response:equal-lengths",
  reads({
    twice: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    list: "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
  }),
);

verifies(
  "http-response:length-and-chunked",
  reads({
    before: `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
    after: `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 99\r\n\r\n${CHUNKS}`,
  }),
);

verifies(
  "http-response:line-ends",
  reads({
    newlines: "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    mixed: "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello",
  }),
);

verifies(
  "http-response:empty-lines",
  reads({ before: "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" }),
);

verifies("http-response:strict", async (context) => {
  for (const text of [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
    `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 99\r\n\r\n${CHUNKS}`,
    "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello",
    "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  ])
    await onUpstream(
      ({ socket }) => void socket.write(text),
      async ({ send, upstream }) => {
        await expectError(send("/x"), -32603, sendingFailed(`${upstream.origin}/x`));
        await inTime((await upstream.request(1)).closed, "the end of the connection");
        expect(upstream.requests).toHaveLength(1);
      },
    )(context);
});

verifies("http-response:not-http", async (context) => {
  const start = "HTTP/1.1 200 OK\r\n";
  for (const text of [
    "HTTP/1.2 200 OK\r\n",
    "HTTP/1.1 099 OK\r\n",
    "HTTP/1.1 20 OK\r\n",
    "HTTP/1.1 2000 OK\r\n",
    "HTTP/1.1  200 OK\r\n",
    "http/1.1 200 OK\r\n",
    "HTTP/1.1 200 a\x01b\r\n",
    `${start}x : y\r\n`,
    `${start}: y\r\n`,
    `${start}x@y: z\r\n`,
    `${start}x: a\x00b\r\n`,
    `${start}x: a\x7fb\r\n`,
    `${start}x: a\rb\r\n`,
    `${start}x: a\r\n b\r\n`,
    `${start}content-length: +5\r\n`,
    `${start}content-length: -5\r\n`,
    `${start}content-length: x\r\n`,
    `${start}content-length:\r\n`,
    `${start}content-length: 99999999999999999999999\r\n`,
  ])
    await onUpstream(ending(`${text}content-length: 5\r\n\r\nhello`), async ({ send, upstream }) => {
      const failure: unknown = await send("/x").catch((error: unknown) => error);
      expect({ text, failure: String(failure) }).toMatchObject({
        text,
        failure: expect.stringContaining(sendingFailed(`${upstream.origin}/x`)),
      });
    })(context);
  for (const body of [
    "z\r\nhello\r\n",
    "\r\nhello\r\n",
    "5\r\nhelloX\r\n",
    "fffffffffffffffff\r\nx",
    "-5\r\nhello\r\n",
  ])
    await onUpstream(ending(`${CHUNKED_HEAD}${body}${LAST_CHUNK}`), async ({ send }) => {
      await expectError(send("/x"), -32603, BODY_FAILED);
    })(context);
});

verifies(
  "http-response:version",
  onUpstream(
    ({ socket }) => void socket.end("HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    async ({ send, upstream }) => {
      await expectError(send("/x"), -32603, sendingFailed(`${upstream.origin}/x`));
    },
  ),
);

verifies(
  "http-response:after-failure",
  onUpstream(
    (request) => {
      if (pathOf(request) === "/bad") request.socket.end(`${head(10)}hello`);
      else request.socket.write(response(200, [], "fine"));
    },
    async ({ send }) => {
      await expectError(send("/bad"), -32603, BODY_FAILED);
      expect(fromBase64((await send("/good")).bodyBase64)).toBe("fine");
    },
  ),
);

verifies(
  "http-response:idle-closed",
  onUpstream(
    ({ socket }) => void socket.end(response(200, [], "ok")),
    async ({ send, upstream }) => {
      for (let turn = 1; turn <= 5; turn += 1) {
        expect(fromBase64((await send("/")).bodyBase64)).toBe("ok");
        await inTime((await upstream.request(turn)).closed, "the end of the connection");
      }
    },
  ),
);

verifies(
  "http-timeout:head",
  onUpstream(silent, async ({ send, upstream }) => {
    const startedAt = performance.now();
    await expectError(send("/", { timeoutMs: LIMIT_MS }), -32603, sendingFailed(`${upstream.origin}/`));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(LIMIT_MS - 5);
    await inTime((await upstream.request(1)).closed, "the end of the connection");
  }),
  { concurrent: true },
);

verifies(
  "http-timeout:body",
  onUpstream(
    ({ socket }) => void socket.write(`${head(10)}hello`),
    async ({ send, upstream }) => {
      const startedAt = performance.now();
      await expectError(send("/", { timeoutMs: LIMIT_MS }), -32603, BODY_FAILED);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(LIMIT_MS - 5);
      await inTime((await upstream.request(1)).closed, "the end of the connection");
    },
  ),
  { concurrent: true },
);

verifies(
  "http-timeout:redirects",
  onUpstream(
    (request) => {
      // Each hop alone is within the limit, and both together are not: seconds before it, and seconds after it.
      const [text, afterMs] =
        pathOf(request) === "/1"
          ? [response(302, ["Location: /2"]), LIMIT_MS * 0.35]
          : [response(200), LIMIT_MS * 0.95];
      const timer = setTimeout(() => request.socket.write(text), afterMs);
      void request.closed.then(() => clearTimeout(timer));
    },
    async ({ send, upstream }) => {
      const struck = sendingFailed(`${upstream.origin}/2`);
      await expectError(send("/1", { timeoutMs: LIMIT_MS }), -32603, struck);
      expect(upstream.requests.map(({ target }) => target)).toEqual(["/1", "/2"]);
    },
  ),
  { concurrent: true },
);

verifies(
  "http-timeout:late",
  async ({ launch }) => {
    const server = await launch(["--listen", "ws://127.0.0.1:0"]);
    const connection = await openWebSocketPeer(await server.banner());
    await connection.handshake();
    // The answer waits for a server that stands still until its limit has passed.
    const stop: Answer = async ({ socket }) => {
      await stopProcess(server.child);
      socket.write(response(302, ["Location: /2"]));
      setTimeout(() => server.child.kill("SIGCONT"), LIMIT_MS);
    };
    try {
      await withUpstream(stop, async (upstream) => {
        const asked = httpRequest(connection, `${upstream.origin}/1`, { timeoutMs: LIMIT_MS });
        await expectError(asked, -32603, sendingFailed(`${upstream.origin}/1`));
        expect(upstream.requests).toHaveLength(1);
      });
    } finally {
      server.child.kill("SIGCONT");
      connection.drop();
    }
  },
  { concurrent: true },
);

verifies(
  "http-timeout:zero",
  onUpstream(always(200), async ({ send, upstream }) => {
    const message = "http/request failed: route-aware request timed out";
    await expectError(send("/", { timeoutMs: 0 }), -32603, message);
    await expectError(send("/", { timeoutMs: 0, streamResponse: true }), -32603, message);
    expect(upstream.requests).toEqual([]);
  }),
);

verifies(
  "http-timeout:numbers",
  onUpstream(
    ({ socket }) => void setTimeout(() => socket.write(response(200)), 125),
    async ({ connection, send, upstream }) => {
      for (const timeoutMs of [
        "60000",
        "2147483648",
        "4294967297",
        "9007199254740993",
        "18446744073709551615",
      ]) {
        const params = `{"method":"GET","url":"${upstream.origin}/","requestId":"r","timeoutMs":${timeoutMs}}`;
        connection.sendText(`{"id":"${timeoutMs}","method":"http/request","params":${params}}`);
        const answer = await connection.next((message) => message.id === timeoutMs);
        expect({ timeoutMs, answer }).toMatchObject({ timeoutMs, answer: { result: { status: 200 } } });
      }
      for (const timeoutMs of [-1, 1.5, 1e30]) {
        await expectError(send("/", { timeoutMs }), -32602, "invalid number");
      }
      for (const timeoutMs of ["1", true, []]) {
        await expectError(send("/", { timeoutMs }), -32602, /^invalid type: /);
      }
    },
  ),
);

verifies("http-response:idle-race", async (context) => {
  const usedBefore = new Set<unknown>();
  const once: Answer = ({ socket, target }) => {
    if (usedBefore.has(socket)) {
      socket.destroy();
      return;
    }
    usedBefore.add(socket);
    socket.write(response(200, [], target));
  };
  await onUpstream(once, async ({ send, upstream }) => {
    await send("/1");
    expect(fromBase64((await send("/2")).bodyBase64)).toBe("/2");
    expect(upstream.requests.map(({ target }) => target)).toEqual(["/1", "/2", "/2"]);
    const post = send("/3", { method: "POST", bodyBase64: base64("x") });
    await expectError(post, -32603, sendingFailed(`${upstream.origin}/3`));
    expect(upstream.requests.at(-2)?.target).toBe("/2");
  })(context);
});

import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import {
  always,
  httpRequest,
  onUpstream,
  sentLines,
  type UpstreamRequest,
  withUpstream,
} from "./http-upstream.ts";
import { base64, expectError, verifies } from "./verifies.ts";

const OK = always(200, [], "ok");
const REQUEST = "http/request";

function header(name: string, value: string) {
  return { name, value };
}

function last(requests: readonly UpstreamRequest[]): UpstreamRequest {
  const request = requests.at(-1);
  if (request === undefined) throw new Error("no request came");
  return request;
}

verifies("http-request:required-members", async ({ peer }) => {
  const connection = await peer();
  const valid = { method: "GET", url: "http://127.0.0.1:1/", requestId: "r" };
  for (const member of ["method", "url", "requestId"]) {
    const params = Object.fromEntries(Object.entries(valid).filter(([name]) => name !== member));
    await expectError(connection.request(REQUEST, params), -32602, `missing field \`${member}\``);
  }
  await expectError(connection.request(REQUEST, null), -32602);
});

verifies(
  "http-request:member-types",
  onUpstream(OK, async ({ send, upstream }) => {
    for (const more of [
      { method: null },
      { url: 1 },
      { requestId: null },
      { requestId: 1 },
      { headers: {} },
      { headers: [header("x", "y"), 1] },
      { headers: [{ name: "x", value: null }] },
      { headers: [{ name: 1, value: "y" }] },
      { headers: [{ name: "x", value: "y", valueEnvVar: 1 }] },
      { bodyBase64: 1 },
      { streamResponse: "true" },
    ]) {
      await expectError(send("/", more), -32602, /^invalid type: /);
    }
    await expectError(send("/", { headers: [{ name: "x" }] }), -32602, "missing field `value`");
    await expectError(send("/", { headers: [{ value: "x" }] }), -32602, "missing field `name`");
    expect(upstream.requests).toEqual([]);
  }),
);

verifies(
  "http-request:optional-null",
  onUpstream(OK, async ({ send }) => {
    const headers = [{ ...header("x", "y"), valueEnvVar: null }];
    expect(await send("/", { bodyBase64: null, timeoutMs: null, headers })).toMatchObject({ status: 200 });
    for (const member of ["headers", "redirectPolicy", "streamResponse"]) {
      await expectError(send("/", { [member]: null }), -32602, /^invalid type: null/);
    }
  }),
);

verifies(
  "http-request:unknown-members",
  onUpstream(OK, async ({ send }) => {
    const headers = [{ ...header("x", "y"), more: 1 }];
    expect(await send("/", { more: 1, headers })).toMatchObject({ status: 200 });
  }),
);

verifies(
  "http-request:request-id",
  onUpstream(OK, async ({ send }) => {
    for (const requestId of ["", "é\u0000", "x".repeat(5000), "x", "x"]) {
      expect(await send("/", { requestId })).toMatchObject({ status: 200 });
    }
  }),
);

verifies(
  "http-request:result",
  onUpstream(always(200, ["X-A: b"], "hello"), async ({ send }) => {
    expect(await send("/")).toEqual({
      status: 200,
      headers: [header("x-a", "b"), header("content-length", "5")],
      bodyBase64: base64("hello"),
    });
  }),
);

verifies(
  "http-request:check-order",
  onUpstream(OK, async ({ connection, send, upstream }) => {
    const bad = {
      headers: [header("x", "\n"), header(" ", "")],
      timeoutMs: 0,
    };
    const method = "http/request method is invalid: invalid HTTP method";
    await expectError(httpRequest(connection, "ftp://x", { ...bad, method: " " }), -32602, method);
    const scheme = "http/request only supports http and https URLs, got ftp";
    await expectError(httpRequest(connection, "ftp://x", bad), -32602, scheme);
    const value = "http/request header value is invalid for x: failed to parse header value";
    await expectError(send("/", bad), -32602, value);
    const name = "http/request header name is invalid: invalid HTTP header name";
    const unset = { value: "\n", valueEnvVar: "NO_SUCH_VARIABLE" };
    await expectError(send("/", { headers: [{ name: " ", ...unset }] }), -32602, name);
    const variable = "http/request header X-v requires executor environment variable NO_SUCH_VARIABLE";
    await expectError(send("/", { headers: [{ name: "X-v", ...unset }] }), -32602, variable);
    expect(upstream.requests).toEqual([]);
  }),
);

verifies(
  "http-request.method:as-given",
  onUpstream(OK, async ({ send, upstream }) => {
    const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "Post", "FOO-bar!#"];
    for (const method of methods) expect((await send("/", { method })).status).toBe(200);
    expect(upstream.requests.map(({ method }) => method)).toEqual(methods);
  }),
);

verifies(
  "http-request.method:invalid",
  onUpstream(OK, async ({ send, upstream }) => {
    for (const method of ["", "GE T", "G\r\n", "GÉT", "G(", "G/"]) {
      const message = "http/request method is invalid: invalid HTTP method";
      await expectError(send("/", { method }), -32602, message);
    }
    expect(upstream.requests).toEqual([]);
  }),
);

verifies("http-request.url:invalid", async ({ peer }) => {
  const connection = await peer();
  for (const url of ["", "x", "/p", "127.0.0.1"]) {
    const message = "http/request url is invalid: relative URL without a base";
    await expectError(httpRequest(connection, url), -32602, message);
  }
  for (const url of ["http://", "http://127.0.0.1:65536/", "http://[::1", "http://a b/"]) {
    await expectError(httpRequest(connection, url), -32602, /^http\/request url is invalid: /);
  }
});

verifies("http-request.url:long", async ({ peer }) => {
  const connection = await peer();
  const start = "http://127.0.0.1:1/";
  const ofLength = (length: number): string => start + "a".repeat(length - start.length);
  await expectError(
    httpRequest(connection, ofLength(65_534)),
    -32603,
    /^http\/request failed: error sending/,
  );
  for (const length of [65_535, 1_000_000])
    await expectError(
      httpRequest(connection, ofLength(length)),
      -32603,
      /^http\/request failed: builder error for url /,
    );
});

verifies("http-request.url:scheme", async ({ peer }) => {
  const connection = await peer();
  for (const url of ["ftp://x/", "file:///etc/hostname", "ws://127.0.0.1:1/", "data:,x", "mailto:x"]) {
    const scheme = url.slice(0, url.indexOf(":"));
    const message = `http/request only supports http and https URLs, got ${scheme}`;
    await expectError(httpRequest(connection, url), -32602, message);
  }
});

verifies(
  "http-request.url:target",
  onUpstream(OK, async ({ connection, upstream }) => {
    const authority = `127.0.0.1:${upstream.port}`;
    for (const [url, target] of [
      [`http://${authority}`, "/"],
      [`http://${authority}?q`, "/?q"],
      [`HTTP://${authority}/Path`, "/Path"],
      [`  http://${authority}/blanks  `, "/blanks"],
      [`http:\\\\${authority}\\back`, "/back"],
      [`http://${authority}/a/../b/./c//d`, "/b/c//d"],
      [`http://${authority}/a b/é?x=é y&z=%20#fragment`, "/a%20b/%C3%A9?x=%C3%A9%20y&z=%20"],
    ] as const) {
      expect(await httpRequest(connection, url)).toMatchObject({ status: 200 });
      expect({ url, target: last(upstream.requests).target }).toEqual({ url, target });
      expect(last(upstream.requests).lines).toContain(`host: ${authority}`);
    }
  }),
);

verifies(
  "http-request.url:credentials",
  onUpstream(OK, async ({ connection, upstream }) => {
    const authority = `127.0.0.1:${upstream.port}`;
    await httpRequest(connection, `http://user:pa%20ss@${authority}/`);
    await httpRequest(connection, `http://user@${authority}/`);
    await httpRequest(connection, `http://user:pass@${authority}/`, {
      headers: [header("Authorization", "mine")],
    });
    const lines = upstream.requests.map((request) =>
      request.lines.filter((line) => line.startsWith("authorization")),
    );
    expect(lines).toEqual([
      [`authorization: Basic ${base64("user:pa ss")}`],
      [`authorization: Basic ${base64("user:")}`],
      ["authorization: mine"],
    ]);
  }),
);

verifies("http-request.url:ipv6", async ({ peer }) => {
  await withUpstream(
    OK,
    async ({ port, requests }) => {
      expect(await httpRequest(await peer(), `http://[::1]:${port}/`)).toMatchObject({ status: 200 });
      expect(last(requests).lines).toContain(`host: [::1]:${port}`);
    },
    "::1",
  );
});

verifies(
  "http-request.headers:own",
  onUpstream(OK, async ({ send, target: server, upstream }) => {
    await send("/p");
    const { method, target, lines, body } = last(upstream.requests);
    expect({ method, target, lines, body: body.length }).toEqual({
      method: "GET",
      target: "/p",
      lines: sentLines(server, ["accept: */*", `host: 127.0.0.1:${upstream.port}`]),
      body: 0,
    });
  }),
);

/** The header lines a request with these headers has before the server's own. */
function sendsLines(
  headers: readonly { name: string; value: string }[],
  expected: readonly string[],
  own: readonly string[] = ["accept", "host"],
) {
  return onUpstream(OK, async ({ send, target, upstream }) => {
    await send("/", { headers });
    const values: Record<string, string> = { accept: "*/*", host: `127.0.0.1:${upstream.port}` };
    const ownLines = own.map((name) => `${name}: ${values[name]}`);
    expect(last(upstream.requests).lines).toEqual(sentLines(target, [...expected, ...ownLines]));
  });
}

verifies(
  "http-request.headers:lower-case",
  sendsLines([header("X-Upper", "Value"), header("User-Agent", "U")], ["x-upper: Value", "user-agent: U"]),
);

verifies(
  "http-request.headers:order",
  sendsLines(
    [header("z", "1"), header("a", "2"), header("Z", "3"), header("b", "4"), header("z", "5")],
    ["z: 1", "z: 3", "z: 5", "a: 2", "b: 4"],
  ),
);

verifies("http-request.headers:accept", async (context) => {
  await sendsLines(
    [header("Accept", "text/a"), header("accept", "b/c")],
    ["accept: text/a", "accept: b/c"],
    ["host"],
  )(context);
});

verifies("http-request.headers:host", async (context) => {
  const headers = [header("a", "1"), header("Host", "example.test:1"), header("b", "2")];
  await sendsLines(headers, ["a: 1", "host: example.test:1", "b: 2"], ["accept"])(context);
});

verifies("http-request.headers:values", async (context) => {
  const values = ["", "  a b  ", "a\tb", "é€", '"quoted", x'];
  await sendsLines(
    values.map((value, index) => header(`x${index}`, value)),
    values.map((value, index) => `x${index}: ${Buffer.from(value).toString("latin1")}`),
  )(context);
});

verifies("http-request.headers:many", async (context) => {
  const headers = Array.from({ length: 300 }, (_, index) => header(`x-${index}`, `${index}`));
  await sendsLines(
    headers,
    headers.map(({ name, value }) => `${name}: ${value}`),
  )(context);
});

verifies(
  "http-request.headers:name-invalid",
  onUpstream(OK, async ({ send, upstream }) => {
    for (const name of ["", " ", "X Y", "X:Y", "é", "X\n", "X(", "X\r\nY"]) {
      const message = "http/request header name is invalid: invalid HTTP header name";
      await expectError(send("/", { headers: [header("ok", ""), header(name, "v")] }), -32602, message);
    }
    expect(upstream.requests).toEqual([]);
  }),
);

verifies(
  "http-request.headers:value-invalid",
  onUpstream(OK, async ({ send, upstream }) => {
    for (const value of ["a\nb", "a\r\nb", "\0", "\u007f", "\u001f"]) {
      const message = "http/request header value is invalid for X-Name: failed to parse header value";
      await expectError(send("/", { headers: [header("X-Name", value)] }), -32602, message);
    }
    expect(upstream.requests).toEqual([]);
  }),
);

verifies(
  "http-request.body:bytes",
  onUpstream(OK, async ({ send, target, upstream }) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "GET", "post", "FOO"]) {
      await send("/", { method, bodyBase64: base64(bytes), headers: [header("Content-Type", "x/y")] });
      const { lines, body } = last(upstream.requests);
      expect({ method, lines }).toEqual({
        method,
        lines: sentLines(target, [
          "content-type: x/y",
          "accept: */*",
          `host: 127.0.0.1:${upstream.port}`,
          "content-length: 256",
        ]),
      });
      expect(body.equals(bytes)).toBe(true);
    }
  }),
);

verifies(
  "http-request.body:none",
  onUpstream(OK, async ({ send, upstream }) => {
    for (const method of ["POST", "PUT", "DELETE", "GET"]) {
      for (const body of [{}, { bodyBase64: null }, { bodyBase64: "" }]) await send("/", { method, ...body });
    }
    expect(upstream.requests).toHaveLength(12);
    for (const { lines } of upstream.requests) {
      expect(lines).toEqual(["accept: */*", `host: 127.0.0.1:${upstream.port}`]);
    }
  }),
);

verifies(
  "http-request.body:large",
  onUpstream(OK, async ({ send, upstream }) => {
    const bytes = randomBytes(8 * 1024 * 1024);
    await send("/", { method: "POST", bodyBase64: base64(bytes) });
    expect(last(upstream.requests).body.equals(bytes)).toBe(true);
  }),
);

verifies(
  "http-request.body:invalid",
  onUpstream(OK, async ({ send }) => {
    await expectError(send("/", { bodyBase64: "aGk" }), -32602, "Invalid padding");
    await expectError(send("/", { bodyBase64: "*" }), -32602, "Invalid symbol 42, offset 0.");
  }),
);

verifies(
  "http-request.body:own-length",
  onUpstream(OK, async ({ send, target, upstream }) => {
    const headers = [header("Content-Length", "2"), header("x", "y")];
    await send("/", { method: "POST", bodyBase64: base64("hi"), headers });
    const host = `host: 127.0.0.1:${upstream.port}`;
    const lines = ["content-length: 2", "x: y", "accept: */*", host];
    expect(last(upstream.requests).lines).toEqual(sentLines(target, lines));
    expect(last(upstream.requests).body.toString()).toBe("hi");
  }),
);

verifies(
  "http-request.body:short-length",
  onUpstream(OK, async ({ send, upstream }) => {
    const headers = [header("Content-Length", "2")];
    const bodyBase64 = base64("hiGET /smuggled HTTP/1.1\r\n\r\n");
    expect(await send("/a", { method: "POST", bodyBase64, headers })).toMatchObject({ status: 200 });
    expect(await send("/b")).toMatchObject({ status: 200 });
    expect(
      upstream.requests.map(({ method, target, body }) => `${method} ${target} ${body.toString()}`),
    ).toEqual(["POST /a hi", "GET /b "]);
  }),
);

verifies(
  "http-request.body:unusable-length",
  onUpstream(OK, async ({ send, upstream }) => {
    const headers = [header("Content-Length", "x")];
    await send("/", { method: "POST", bodyBase64: base64("hi"), headers });
    const { lines, body } = last(upstream.requests);
    expect(lines.filter((line) => line.startsWith("content-length"))).toEqual(["content-length: 2"]);
    expect(body.toString()).toBe("hi");
  }),
);

verifies(
  "http-request.body:chunked",
  onUpstream(OK, async ({ send, target, upstream }) => {
    const headers = [header("Transfer-Encoding", "chunked")];
    await send("/", { method: "POST", bodyBase64: base64("hi"), headers });
    const { lines, body } = last(upstream.requests);
    const expected = ["transfer-encoding: chunked", "accept: */*", `host: 127.0.0.1:${upstream.port}`];
    expect(lines).toEqual(sentLines(target, expected));
    expect(body.toString()).toBe("2\r\nhi\r\n0\r\n\r\n");
  }),
);

verifies(
  "http-request.body:chunked-and-length",
  onUpstream(OK, async ({ send, target, upstream }) => {
    const headers = [header("Transfer-Encoding", "chunked"), header("Content-Length", "2")];
    await send("/", { method: "POST", bodyBase64: base64("hi"), headers });
    const { lines, body } = last(upstream.requests);
    const expected = ["accept: */*", `host: 127.0.0.1:${upstream.port}`, "transfer-encoding: chunked"];
    expect([...lines].sort()).toEqual(sentLines(target, expected).sort());
    expect(body.toString()).toBe("2\r\nhi\r\n0\r\n\r\n");
  }),
);

verifies(
  "http-request.body:other-coding",
  onUpstream(OK, async ({ send, upstream }) => {
    const headers = [header("Transfer-Encoding", "gzip")];
    await send("/", { method: "POST", bodyBase64: base64("hi"), headers });
    const { lines, body } = last(upstream.requests);
    const codings = lines.flatMap((line) => /^transfer-encoding: (.*)/.exec(line)?.[1]?.split(", ") ?? []);
    expect(codings).toEqual(["gzip", "chunked"]);
    expect(body.toString()).toBe("2\r\nhi\r\n0\r\n\r\n");
  }),
);

verifies(
  "http-request.body:other-coding-refused",
  onUpstream(OK, async ({ send, upstream }) => {
    const headers = [header("Transfer-Encoding", "gzip, chunked")];
    const message = "http/request failed: the transfer-encoding gzip is not supported";
    await expectError(send("/", { method: "POST", bodyBase64: base64("hi"), headers }), -32603, message);
    expect(upstream.requests).toEqual([]);
  }),
);

verifies(
  "http-request.body:no-bytes",
  onUpstream(OK, async ({ send, target, upstream }) => {
    const own = ["accept: */*", `host: 127.0.0.1:${upstream.port}`];
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "GET"]) {
      const length = method.startsWith("P") ? ["content-length: 0"] : [];
      for (const body of [{}, { bodyBase64: null }, { bodyBase64: "" }]) {
        await send("/", { method, ...body });
        expect(last(upstream.requests).lines).toEqual(sentLines(target, [...own, ...length]));
      }
    }
  }),
);

verifies(
  "http-request.headers:of-the-connection",
  onUpstream(OK, async ({ send, target, upstream }) => {
    const headers = [
      header("Connection", "keep-alive, x-y"),
      header("Keep-Alive", "timeout=5"),
      header("Expect", "100-continue"),
      header("x-y", "z"),
    ];
    await send("/1", { headers, method: "POST", bodyBase64: base64("hi") });
    const lines = ["x-y: z", "accept: */*", `host: 127.0.0.1:${upstream.port}`, "content-length: 2"];
    expect(last(upstream.requests).lines).toEqual(sentLines(target, lines));
    await send("/2", { headers: [header("Connection", "close")] });
    expect(last(upstream.requests).lines).toContain("connection: close");
    await send("/3", { headers: [header("Upgrade", "x")] });
    expect(last(upstream.requests).lines.slice(1, 3)).toEqual(["connection: upgrade", "upgrade: x"]);
    await send("/4", { method: "HEAD" });
    expect(last(upstream.requests).lines).toContain("connection: close");
    const { requests } = upstream;
    expect(requests.map(({ socket }) => requests.findIndex((one) => one.socket === socket))).toEqual([
      0, 0, 2, 3,
    ]);
  }),
);

verifies(
  "http-request.headers:first-host",
  onUpstream(OK, async ({ send, upstream }) => {
    await send("/", { headers: [header("Host", "a.test"), header("host", "b.test")] });
    expect(last(upstream.requests).lines.filter((line) => line.startsWith("host"))).toEqual(["host: a.test"]);
  }),
);

verifies(
  "http-request.url:no-credentials",
  onUpstream(OK, async ({ connection, upstream }) => {
    const authority = `127.0.0.1:${upstream.port}`;
    const sent = async (userinfo: string): Promise<readonly string[]> => {
      await httpRequest(connection, `http://${userinfo}@${authority}/`);
      return last(upstream.requests).lines.filter((line) => line.startsWith("authorization"));
    };
    for (const userinfo of ["%ff", "%ff:word", "%c3", "%ed%a0%80:x"])
      expect(await sent(userinfo)).toEqual([]);
    expect(await sent("user:%ff")).toEqual([`authorization: Basic ${base64("user:")}`]);
    expect(await sent("%zz:%")).toEqual([`authorization: Basic ${base64("%zz:%")}`]);
    expect(await sent("%c3%a9")).toEqual([`authorization: Basic ${base64("é:")}`]);
  }),
);

verifies(
  "http-request.method:connect",
  onUpstream(OK, async ({ send, upstream }) => {
    expect(await send("/path", { method: "CONNECT" })).toMatchObject({ status: 200 });
    expect(last(upstream.requests).target).toBe(`127.0.0.1:${upstream.port}`);
  }),
);

verifies(
  "http-request:reuse",
  onUpstream(OK, async ({ send, upstream }) => {
    for (const path of ["/1", "/2", "/3"]) expect(await send(path)).toMatchObject({ status: 200 });
    expect(new Set(upstream.requests.map(({ socket }) => socket)).size).toBe(1);
  }),
);

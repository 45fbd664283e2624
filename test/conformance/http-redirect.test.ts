import { expect } from "vitest";
import {
  type Answer,
  always,
  HttpUpstream,
  onUpstream,
  pathOf,
  response,
  sendingFailed,
  sentLines,
  type UpstreamRequest,
  withUpstream,
} from "./http-upstream.ts";
import type { Target } from "./targets.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

const BODY = { bodyBase64: base64("body") };
const MAX_REDIRECTS = 10;
const TOO_MANY = "http/request failed: too many redirects";

/** Redirects …/STATUS?LOCATION, with its own body, and answers everything else with "end". */
const redirecting: Answer = (request) => {
  const status = Number(/\/(\d+)$/.exec(pathOf(request))?.[1] ?? 0);
  const location = decodeURIComponent(request.target.slice(request.target.indexOf("?") + 1));
  const text = status > 0 ? response(status, [`Location: ${location}`], "moved") : response(200, [], "end");
  request.socket.write(text);
};

function header(name: string, value: string) {
  return { name, value };
}

/** The request line and the body. */
function summary({ method, target, body }: UpstreamRequest): string {
  return [method, target, body.toString()].filter((part) => part !== "").join(" ");
}

function linesOf(upstream: HttpUpstream, count: number): readonly string[] {
  return upstream.requests[count - 1]?.lines ?? [];
}

verifies(
  "http-redirect:statuses",
  onUpstream(redirecting, async ({ send }) => {
    for (const status of [301, 302, 303, 307, 308]) {
      const result = await send(`/${status}?/end`);
      expect({ status, got: result.status, body: fromBase64(result.bodyBase64) }).toEqual({
        status,
        got: 200,
        body: "end",
      });
    }
    for (const status of [300, 305, 306]) {
      const result = await send(`/${status}?/end`);
      expect({ got: result.status, body: fromBase64(result.bodyBase64) }).toEqual({
        got: status,
        body: "moved",
      });
    }
  }),
);

const DESCRIBING = [
  header("Content-Type", "x/y"),
  header("Content-Encoding", "identity"),
  header("Content-Length", "4"),
  header("X-Mine", "m"),
];

verifies(
  "http-redirect:post",
  onUpstream(redirecting, async ({ send, target, upstream }) => {
    for (const status of [301, 302]) {
      upstream.requests.length = 0;
      await send(`/${status}?/end`, { method: "POST", ...BODY, headers: DESCRIBING });
      expect(upstream.requests.map(summary)).toEqual([`POST /${status}?/end body`, "GET /end"]);
      const expected = [
        "accept: */*",
        `host: 127.0.0.1:${upstream.port}`,
        `referer: ${upstream.origin}/${status}?/end`,
        "x-mine: m",
      ];
      expect([...linesOf(upstream, 2)].sort()).toEqual(sentLines(target, expected).sort());
    }
  }),
);

verifies(
  "http-redirect:other-methods",
  onUpstream(redirecting, async ({ send, upstream }) => {
    for (const status of [301, 302]) {
      for (const method of ["PUT", "PATCH", "DELETE", "post", "FOO"]) {
        upstream.requests.length = 0;
        await send(`/${status}?/end`, { method, ...BODY, headers: [header("Content-Type", "x/y")] });
        expect(upstream.requests.map(summary)).toEqual([
          `${method} /${status}?/end body`,
          `${method} /end body`,
        ]);
        expect(linesOf(upstream, 2)).toContain("content-type: x/y");
      }
    }
  }),
);

verifies(
  "http-redirect:see-other",
  onUpstream(redirecting, async ({ send, upstream }) => {
    for (const method of ["POST", "PUT", "DELETE", "post", "GET"]) {
      upstream.requests.length = 0;
      await send("/303?/end", { method, ...BODY, headers: [header("Content-Type", "x/y")] });
      expect(upstream.requests.map(summary)).toEqual([`${method} /303?/end body`, "GET /end"]);
      expect(linesOf(upstream, 2).filter((line) => line.startsWith("content-"))).toEqual([]);
    }
  }),
);

verifies(
  "http-redirect:preserving",
  onUpstream(redirecting, async ({ send, upstream }) => {
    for (const status of [307, 308]) {
      for (const method of ["POST", "PUT", "GET"]) {
        upstream.requests.length = 0;
        await send(`/${status}?/end`, { method, ...BODY, headers: DESCRIBING });
        expect(upstream.requests.map(summary)).toEqual([
          `${method} /${status}?/end body`,
          `${method} /end body`,
        ]);
        expect(linesOf(upstream, 2)).toEqual(expect.arrayContaining(["content-type: x/y", "x-mine: m"]));
      }
    }
  }),
);

verifies(
  "http-redirect:referer",
  onUpstream(redirecting, async ({ connection, send, upstream }) => {
    const referer = () =>
      linesOf(upstream, upstream.requests.length).filter((line) => line.startsWith("referer"));
    await send("/302?/end#fragment");
    expect(referer()).toEqual([`referer: ${upstream.origin}/302?/end`]);
    await send("/302?/end", { headers: [header("Referer", "http://mine/")] });
    expect(referer()).toEqual([`referer: ${upstream.origin}/302?/end`]);
    await connection.request("http/request", {
      method: "GET",
      url: `http://user:pass@127.0.0.1:${upstream.port}/302?/end`,
      requestId: "r",
    });
    expect(referer()).toEqual([`referer: ${upstream.origin}/302?/end`]);
  }),
);

/** The body of a test on two upstreams: the first redirects, the second is another origin by its port. */
function acrossOrigins(
  body: (context: {
    send: (path: string, more?: Record<string, unknown>) => Promise<unknown>;
    target: Target;
    first: HttpUpstream;
    second: HttpUpstream;
  }) => Promise<void>,
) {
  return onUpstream(redirecting, async ({ send, target, upstream }) =>
    withUpstream(always(200), (second) => body({ send, target, first: upstream, second })),
  );
}

verifies(
  "http-redirect:referer-origin",
  acrossOrigins(async ({ send, first, second }) => {
    await send(`/302?${second.origin}/x`);
    expect(linesOf(second, 1)).toContain(`referer: ${first.origin}/`);
  }),
);

const SECRETS = ["Authorization", "Cookie", "Proxy-Authorization", "WWW-Authenticate"];
const SECRET_HEADERS = [...SECRETS.map((name) => header(name, "secret")), header("X-Mine", "m")];

verifies(
  "http-redirect:same-origin",
  onUpstream(redirecting, async ({ send, upstream }) => {
    await send("/302?/end", { headers: SECRET_HEADERS });
    const expected = [...SECRETS.map((name) => `${name.toLowerCase()}: secret`), "x-mine: m"];
    expect(linesOf(upstream, 2)).toEqual(expect.arrayContaining(expected));
  }),
);

verifies(
  "http-redirect:other-origin",
  acrossOrigins(async ({ send, target, first, second }) => {
    for (const host of ["127.0.0.1", "localhost"]) {
      second.requests.length = 0;
      await send(`/307?http://${host}:${second.port}/x`, {
        method: "POST",
        ...BODY,
        headers: SECRET_HEADERS,
      });
      expect(second.requests.map(summary)).toEqual(["POST /x body"]);
      const expected = [
        "accept: */*",
        "content-length: 4",
        `host: ${host}:${second.port}`,
        `referer: ${first.origin}/`,
        "x-mine: m",
      ];
      expect([...linesOf(second, 1)].sort()).toEqual(sentLines(target, expected).sort());
    }
  }),
);

verifies(
  "http-redirect:host",
  acrossOrigins(async ({ send, first, second }) => {
    const headers = [header("Host", "my.test")];
    await send("/302?/end", { headers });
    expect(linesOf(first, 2)).toContain("host: my.test");
    await send(`/302?${second.origin}/x`, { headers });
    expect(linesOf(second, 1)).toContain("host: my.test");
  }),
);

verifies("http-redirect:url-credentials", async (context) => {
  await acrossOrigins(async ({ send, first, second }) => {
    const authorization = (lines: readonly string[]) =>
      lines.filter((line) => line.startsWith("authorization"));
    const url = `http://user:pass@127.0.0.1:${first.port}`;
    const basic = [`authorization: Basic ${base64("user:pass")}`];
    await send("", { url: `${url}/302?/end` });
    expect(authorization(linesOf(first, 2))).toEqual(basic);
    await send("", { url: `${url}/302?${second.origin}/x` });
    expect(authorization(linesOf(second, 1))).toEqual([]);
    await send(`/302?http://other:word@127.0.0.1:${second.port}/x`);
    expect(authorization(linesOf(second, 2))).toEqual([]);
  })(context);
});

verifies(
  "http-redirect:relative",
  acrossOrigins(async ({ send, first, second }) => {
    for (const [location, target] of [
      ["end", "/a/end"],
      ["../end", "/end"],
      ["/x/./y#fragment", "/x/y"],
      ["/a b", "/a%20b"],
      ["?q=1", "/a/302?q=1"],
    ] as const) {
      first.requests.length = 0;
      await send(`/a/302?${encodeURIComponent(location)}`);
      expect({ location, target: first.requests[1]?.target }).toEqual({ location, target });
    }
    await send(`/302?//127.0.0.1:${second.port}/x`);
    await send(`/302?HTTP://127.0.0.1:${second.port}`);
    expect(second.requests.map(({ target }) => target)).toEqual(["/x", "/"]);
  }),
);

verifies(
  "http-redirect:no-location",
  onUpstream(
    (request) => {
      const lines = { "/none": [], "/bad": ["Location: http://[bad"], "/utf8": ["Location: /é"] }[
        pathOf(request)
      ];
      request.socket.write(response(302, lines ?? [], "moved"));
    },
    async ({ send, upstream }) => {
      for (const path of ["/none", "/bad", "/utf8"]) {
        const { status, bodyBase64 } = await send(path);
        expect({ path, status, body: fromBase64(bodyBase64) }).toEqual({ path, status: 302, body: "moved" });
      }
      expect(upstream.requests).toHaveLength(3);
    },
  ),
);

verifies(
  "http-redirect:scheme",
  onUpstream(redirecting, async ({ send }) => {
    for (const location of ["ftp://127.0.0.1/", "file:///etc/hostname", "mailto:x"]) {
      const scheme = location.slice(0, location.indexOf(":"));
      const message = `http/request failed: redirect target uses unsupported URL scheme: ${scheme}`;
      await expectError(send(`/302?${location}`), -32603, message);
    }
  }),
);

verifies(
  "http-redirect:refused",
  onUpstream(redirecting, async ({ send }) => {
    await expectError(send("/302?http://127.0.0.1:1/x"), -32603, sendingFailed("http://127.0.0.1:1/x"));
  }),
);

verifies(
  "http-redirect:cookies",
  onUpstream(
    (request) => {
      const first = pathOf(request) === "/first";
      request.socket.write(response(first ? 302 : 200, first ? ["Set-Cookie: a=b", "Location: /end"] : []));
    },
    async ({ send, upstream }) => {
      await send("/first");
      await send("/end");
      expect(upstream.requests).toHaveLength(3);
      for (const { lines } of upstream.requests) expect(lines.join("\n")).not.toMatch(/^cookie/m);
    },
  ),
);

verifies(
  "http-redirect:limit",
  onUpstream(
    (request) => {
      const left = Number(pathOf(request).slice(1));
      request.socket.write(left > 0 ? response(302, [`Location: /${left - 1}`]) : response(200));
    },
    async ({ send, upstream }) => {
      expect(await send(`/${MAX_REDIRECTS}`)).toMatchObject({ status: 200 });
      expect(upstream.requests).toHaveLength(MAX_REDIRECTS + 1);
      upstream.requests.length = 0;
      await expectError(send(`/${MAX_REDIRECTS + 1}`), -32603, TOO_MANY);
      expect(upstream.requests).toHaveLength(MAX_REDIRECTS + 1);
    },
  ),
);

verifies(
  "http-redirect:stop",
  onUpstream(redirecting, async ({ send, upstream }) => {
    const statuses = [301, 302, 303, 307, 308];
    for (const status of statuses) {
      const result = await send(`/${status}?/end`, { redirectPolicy: "stop" });
      expect(result).toEqual({
        status,
        headers: [header("location", "/end"), header("content-length", "5")],
        bodyBase64: base64("moved"),
      });
    }
    expect(upstream.requests).toHaveLength(statuses.length);
  }),
);

verifies(
  "http-redirect:policy",
  onUpstream(redirecting, async ({ send }) => {
    expect(await send("/302?/end", { redirectPolicy: "follow" })).toMatchObject({ status: 200 });
    for (const redirectPolicy of ["Follow", "", "none"]) {
      const message = `unknown variant \`${redirectPolicy}\`, expected \`follow\` or \`stop\``;
      await expectError(send("/", { redirectPolicy }), -32602, message);
    }
    for (const redirectPolicy of [1, true]) await expectError(send("/", { redirectPolicy }), -32602);
  }),
);

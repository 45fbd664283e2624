import { expect } from "vitest";
import {
  type Answer,
  always,
  type HttpUpstream,
  httpRequest,
  response,
  sendingFailed,
  sentLines,
  withUpstream,
} from "./http-upstream.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { base64, expectError, fromBase64, type VerifyContext, verifies } from "./verifies.ts";

/** Runs `use` on a server with these variables in its environment. */
async function withVariables<T>(
  { launch }: VerifyContext,
  env: Record<string, string>,
  use: (connection: RawPeer) => Promise<T>,
): Promise<T> {
  const server = await launch([], { env });
  const connection = await openWebSocketPeer(await server.banner());
  try {
    await connection.handshake();
    return await use(connection);
  } finally {
    connection.drop();
    await server.stop();
  }
}

/** The body of a test on a server with these variables, and what becomes of a header that asks for one. */
function withHeader(
  env: Record<string, string>,
  body: (send: (valueEnvVar: string, value?: string) => Promise<string | undefined>) => Promise<void>,
) {
  return async (context: VerifyContext) =>
    withUpstream(always(200), async (upstream) =>
      withVariables(context, env, (connection) =>
        body(async (valueEnvVar, value = "") => {
          const headers = [{ name: "X-Name", value, valueEnvVar }];
          await httpRequest(connection, `${upstream.origin}/`, { headers });
          return upstream.requests.at(-1)?.lines.find((line) => line.startsWith("x-name: "));
        }),
      ),
    );
}

verifies(
  "http-variable:appended",
  withHeader({ TOKEN: " val ue ", lower: "l", "odd-name": "é" }, async (send) => {
    expect(await send("TOKEN", "Bearer")).toBe("x-name: Bearer val ue ");
    expect(await send("TOKEN")).toBe("x-name:  val ue ");
    expect(await send("lower", "x")).toBe("x-name: xl");
    expect(await send("odd-name")).toBe(`x-name: ${Buffer.from("é").toString("latin1")}`);
  }),
);

verifies(
  "http-variable:unset",
  withHeader({ lower: "l" }, async (send) => {
    for (const name of [
      "NO_SUCH_VARIABLE",
      "LOWER",
      "",
      " lower",
      "A=B",
      "constructor",
      "toString",
      "__proto__",
    ]) {
      const message = `http/request header X-Name requires executor environment variable ${name}`;
      await expectError(send(name), -32602, message);
    }
  }),
);

verifies(
  "http-variable:empty",
  withHeader({ VOID: "" }, async (send) => {
    const message = "http/request header X-Name requires a non-empty executor environment variable VOID";
    await expectError(send("VOID", "value"), -32602, message);
  }),
);

const DENIED = (
  "OPENAI_FEDERATION_RULE_ID OPENAI_IDENTITY_TOKEN_FILE OPENAI_API_KEY CODEX_API_KEY CODEX_ACCESS_TOKEN " +
  "CODEX_CONNECTORS_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_CLIENT_SECRET " +
  "AZURE_FEDERATED_TOKEN_FILE GOOGLE_APPLICATION_CREDENTIALS CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN"
).split(" ");

verifies(
  "http-variable:denied",
  withHeader(
    { OPENAI_API_KEY: "k", codex_api_key: "k", GITHUB_TOKEN: "g", OPENAI_API_KEYS: "s" },
    async (send) => {
      for (const name of [...DENIED, "openai_api_key", "codex_api_key", "Aws_Session_Token"]) {
        const message = `http/request header X-Name cannot use executor environment variable ${name}`;
        await expectError(send(name), -32602, message);
      }
      expect(await send("GITHUB_TOKEN")).toBe("x-name: g");
      expect(await send("OPENAI_API_KEYS")).toBe("x-name: s");
    },
  ),
);

verifies(
  "http-variable:value-invalid",
  withHeader({ LINES: "a\nb" }, async (send) => {
    const message = "http/request header value is invalid for X-Name: failed to parse header value";
    await expectError(send("LINES"), -32602, message);
  }),
);

/** Answers every request with its name, and refuses to be a tunnel. */
function named(name: string): Answer {
  return ({ method, socket }) =>
    void (method === "CONNECT" ? socket.end(response(403)) : socket.write(response(200, [], name)));
}

interface ProxyContext {
  proxy: HttpUpstream;
  other: HttpUpstream;
  direct: HttpUpstream;
  /** Who answers a request to the direct server from a server with these variables. */
  answererOf: (env: Record<string, string>, url?: string) => Promise<string>;
}

function withProxies(body: (context: ProxyContext & VerifyContext) => Promise<void>) {
  return async (context: VerifyContext) =>
    withUpstream(named("proxy"), async (proxy) =>
      withUpstream(named("other"), async (other) =>
        withUpstream(named("direct"), async (direct) => {
          const answererOf: ProxyContext["answererOf"] = (env, url = `${direct.origin}/x`) =>
            withVariables(context, env, async (connection) =>
              fromBase64((await httpRequest(connection, url)).bodyBase64),
            );
          await body({ ...context, proxy, other, direct, answererOf });
        }),
      ),
    );
}

verifies(
  "http-proxy:http",
  withProxies(async ({ proxy, direct, answererOf, target: server }) => {
    expect(await answererOf({})).toBe("direct");
    expect(await answererOf({ HTTP_PROXY: proxy.origin })).toBe("proxy");
    const [{ method, target, lines } = { method: "", target: "", lines: [] }] = proxy.requests;
    expect({ method, target, lines }).toEqual({
      method: "GET",
      target: `${direct.origin}/x`,
      lines: sentLines(server, ["accept: */*", `host: 127.0.0.1:${direct.port}`]),
    });
  }),
);

verifies(
  "http-proxy:spelling",
  withProxies(async ({ proxy, other, answererOf }) => {
    expect(await answererOf({ http_proxy: proxy.origin })).toBe("proxy");
    expect(await answererOf({ all_proxy: proxy.origin })).toBe("proxy");
    expect(await answererOf({ HTTP_PROXY: proxy.origin, http_proxy: other.origin })).toBe("proxy");
    expect(await answererOf({ ALL_PROXY: proxy.origin, all_proxy: other.origin })).toBe("proxy");
    expect(await answererOf({ HTTP_PROXY: proxy.origin, no_proxy: "127.0.0.1" })).toBe("direct");
  }),
);

verifies(
  "http-proxy:https",
  withProxies(async ({ proxy, answererOf }) => {
    const url = "https://127.0.0.1:1/x";
    for (const [index, name] of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"].entries()) {
      await expectError(answererOf({ [name]: proxy.origin }, url), -32603, sendingFailed(url));
      const { method, target } = await proxy.request(index + 1);
      expect({ name, method, target }).toEqual({ name, method: "CONNECT", target: "127.0.0.1:1" });
    }
    expect(await answererOf({ HTTPS_PROXY: proxy.origin })).toBe("direct");
    await expectError(answererOf({ HTTP_PROXY: proxy.origin }, url), -32603, sendingFailed(url));
    expect(proxy.requests).toHaveLength(3);
  }),
);

verifies("http-proxy:no-tunnel", async (context) => {
  for (const answer of [
    "",
    "HTTP/1.1 502 Bad\r\n\r\n",
    "HTTP/1.1",
    "hello\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nno TLS",
  ])
    await withUpstream(
      ({ socket }) => void socket.end(answer),
      async (proxy) =>
        withVariables(context, { HTTPS_PROXY: proxy.origin }, async (connection) => {
          const url = "https://127.0.0.1:1/x";
          await expectError(httpRequest(connection, url), -32603, sendingFailed(url));
          expect({ answer, asked: proxy.requests.length }).toEqual({ answer, asked: 1 });
        }),
    );
});

verifies(
  "http-proxy:all",
  withProxies(async ({ proxy, other, answererOf }) => {
    expect(await answererOf({ ALL_PROXY: proxy.origin })).toBe("proxy");
    expect(await answererOf({ ALL_PROXY: proxy.origin, http_proxy: other.origin })).toBe("other");
    expect(await answererOf({ ALL_PROXY: proxy.origin, HTTPS_PROXY: other.origin })).toBe("proxy");
  }),
);

verifies(
  "http-proxy:credentials",
  withProxies(async ({ proxy, answererOf }) => {
    const url = proxy.origin.replace("//", "//user:pa%20ss@");
    expect(await answererOf({ HTTP_PROXY: url })).toBe("proxy");
    const credentials = base64("user:pa ss");
    expect((await proxy.request(1)).lines).toContain(`proxy-authorization: Basic ${credentials}`);
    await expectError(answererOf({ HTTPS_PROXY: url }, "https://127.0.0.1:1/"), -32603);
    const lines = (await proxy.request(2)).lines.map((line) =>
      line.replace(/^[^:]*/, (name) => name.toLowerCase()),
    );
    expect(lines).toContain(`proxy-authorization: Basic ${credentials}`);
  }),
);

verifies(
  "http-proxy:no-scheme",
  withProxies(async ({ proxy, answererOf }) => {
    expect(await answererOf({ HTTP_PROXY: `127.0.0.1:${proxy.port}` })).toBe("proxy");
  }),
);

verifies(
  "http-proxy:unusable",
  withProxies(async ({ answererOf }) => {
    for (const url of ["", "::::"]) expect(await answererOf({ HTTP_PROXY: url })).toBe("direct");
  }),
);

verifies(
  "http-proxy:unreachable",
  withProxies(async ({ direct, answererOf }) => {
    const failure = answererOf({ HTTP_PROXY: "http://127.0.0.1:1" });
    await expectError(failure, -32603, sendingFailed(`${direct.origin}/x`));
    expect(direct.requests).toEqual([]);
  }),
);

verifies(
  "http-proxy:exceptions",
  withProxies(async ({ proxy, direct, answererOf }) => {
    const except = (list: string, host = "127.0.0.1") =>
      answererOf({ HTTP_PROXY: proxy.origin, NO_PROXY: list }, `http://${host}:${direct.port}/x`);
    for (const list of ["127.0.0.1", " x , 127.0.0.1 ", "127.0.0.0/8", "127.0.0.1/32"]) {
      expect({ list, by: await except(list) }).toEqual({ list, by: "direct" });
    }
    for (const list of ["", "127.0.0", ".0.0.1", "127.0.0.2", `127.0.0.1:${direct.port}`, "10.0.0.0/8"]) {
      expect({ list, by: await except(list) }).toEqual({ list, by: "proxy" });
    }
    for (const list of ["localhost", ".localhost", "LOCALHOST", "*"]) {
      expect({ list, by: await except(list, "localhost") }).toEqual({ list, by: "direct" });
    }
    for (const list of ["host", "*.localhost", "127.0.0.1"]) {
      expect({ list, by: await except(list, "localhost") }).toEqual({ list, by: "proxy" });
    }
  }),
);

verifies(
  "http-proxy:cgi",
  withProxies(async ({ proxy, answererOf }) => {
    expect(await answererOf({ HTTP_PROXY: proxy.origin, REQUEST_METHOD: "GET" })).toBe("direct");
  }),
);

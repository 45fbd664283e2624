import { type AddressInfo, connect, createServer } from "node:net";
import { hostname } from "node:os";
import { expect } from "vitest";
import { fixture, outputOf, run, untilOutput } from "./process-events.ts";
import {
  ask,
  exchange,
  get,
  launchOf,
  reasonOf,
  socksMessages,
  startProxied,
  withEcho,
} from "./proxied-process.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

const LOCAL = "localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16";
const HTTP_NAMES =
  "HTTP_PROXY HTTPS_PROXY http_proxy https_proxy WS_PROXY WSS_PROXY ws_proxy wss_proxy YARN_HTTP_PROXY YARN_HTTPS_PROXY NPM_CONFIG_HTTP_PROXY NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_PROXY npm_config_http_proxy npm_config_https_proxy npm_config_proxy BUNDLE_HTTP_PROXY BUNDLE_HTTPS_PROXY PIP_PROXY DOCKER_HTTP_PROXY DOCKER_HTTPS_PROXY".split(
    " ",
  );
const ANY_NAMES = ["ALL_PROXY", "all_proxy", "FTP_PROXY", "ftp_proxy"];
const EXCEPTION_NAMES = [
  "NO_PROXY",
  "no_proxy",
  "NPM_CONFIG_NOPROXY",
  "npm_config_noproxy",
  "BUNDLE_NO_PROXY",
];

function environment(http: number, any: string, exceptions: string, local: string): Record<string, string> {
  return Object.fromEntries([
    ...HTTP_NAMES.map((name) => [name, `http://127.0.0.1:${http}`]),
    ...ANY_NAMES.map((name) => [name, any]),
    ...EXCEPTION_NAMES.map((name) => [name, exceptions]),
    ["CODEX_NETWORK_PROXY_ACTIVE", "1"],
    ["CODEX_NETWORK_ALLOW_LOCAL_BINDING", local],
    ["NODE_USE_ENV_PROXY", "1"],
    ["ELECTRON_GET_USE_PROXY", "true"],
  ]);
}

/** Without what the shell adds. */
function proxyEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !["PATH", "PWD", "SHLVL", "_", "OLDPWD"].includes(name)),
  );
}

verifies("network.launch:environment", async ({ peer }) => {
  const connection = await peer();
  const { env, http, socks } = await startProxied(connection, "p");
  expect(proxyEnv(env)).toEqual(environment(http, `socks5h://127.0.0.1:${socks}`, LOCAL, "1"));
  const overrides = { ...launchOf(), env: { HTTP_PROXY: "http://other:1", NO_PROXY: "a" } };
  expect(await outputOf(connection, "q", ["/usr/bin/env"], overrides)).toMatch(
    /^HTTP_PROXY=http:\/\/127\.0\.0\.1:\d+$/m,
  );
});

verifies("network.launch:no-socks", async ({ peer }) => {
  const connection = await peer();
  const { env, http } = await startProxied(connection, "p", { enableSocks5: false, enableSocks5Udp: true });
  expect(proxyEnv(env)).toEqual(environment(http, `http://127.0.0.1:${http}`, LOCAL, "1"));
});

verifies("network.launch:no-local", async ({ peer }) => {
  const connection = await peer();
  const { env, http, socks } = await startProxied(connection, "p", { allowLocalBinding: false });
  expect(proxyEnv(env)).toEqual(environment(http, `socks5h://127.0.0.1:${socks}`, "", "0"));
});

verifies("network.launch:end", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    // What is left behind holds stdout until it is killed.
    const argv = ["/bin/sh", "-c", "sleep 60 & echo port=${HTTP_PROXY##*:} holder=$!; exit 0"];
    const overrides = launchOf({ domains: { "127.0.0.1": "allow" } });
    await connection.request("process/start", start("p", argv, overrides));
    await connection.nextNotification("process/exited", "p");
    const [, http, holder] = /port=(\d+) holder=(\d+)/
      .exec(await untilOutput(connection, "p", /holder=\d+\n/))!
      .map(Number) as [number, number, number];
    const tunnel = connect(http, "127.0.0.1");
    const closed = new Promise((resolve) => tunnel.once("close", resolve));
    tunnel.on("error", () => {});
    tunnel.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    const opened = await new Promise((resolve) => tunnel.once("data", resolve));
    expect(String(opened)).toMatch(/^HTTP\/1\.1 200 OK/);
    process.kill(holder, "SIGKILL");
    await connection.nextNotification("process/closed", "p");
    await closed;
    await expect.poll(async () => (await exchange(http, get("http://a.test/"))).toString()).toBe("");
  });
});

verifies("network.launch:errors", async ({ peer }) => {
  const connection = await peer();
  const refused = (overrides: Record<string, unknown>, message: string, processId = "p"): Promise<unknown> =>
    expectError(connection.request("process/start", start(processId, ["true"], overrides)), -32602, message);
  const config = (message: string): string => `invalid network proxy config: ${message}`;
  const off = config("executor-local network proxy launch requires an enabled proxy");
  await refused(launchOf({ enabled: false }), off);
  await refused({ ...launchOf({ enabled: false }), argv: [] }, off);
  await refused(
    launchOf({ enabled: false }, { policyDecisionTimeoutMs: 0 }),
    "network policy decision callback timeout must be nonzero",
  );
  for (const processId of ["", "x".repeat(257), "é".repeat(129)])
    await refused(
      launchOf({}, { policyDecisionTimeoutMs: 1 }),
      "callback-enabled process ID must be non-empty and at most 256 bytes",
      processId,
    );
  const patterns: [string, string][] = [
    ["", "domain pattern is empty"],
    ["*.", "domain pattern is empty"],
    ["**", "unsupported repeated wildcard: **"],
    ["a.**.b", "unsupported repeated wildcard: a.**.b"],
    ["[ab].test", "brackets are only supported for IPv6 literals or [*]: [ab].test"],
    ["10.0.0.0/8", "unsupported domain pattern syntax: 10.0.0.0/8"],
    ["http://a", "unsupported domain pattern syntax: http://a"],
  ];
  for (const [pattern, message] of patterns)
    for (const access of ["allow", "deny"])
      await refused(launchOf({ domains: { [pattern]: access } }), config(message));
  await refused(launchOf({ reviewDomains: ["**"] }), config("unsupported repeated wildcard: **"));
  for (const pattern of ["*", "[*]", "**.*"])
    await refused(
      launchOf({ domains: { [pattern]: "deny" } }),
      config(
        `invalid value for network.denied_domains: ${pattern} (allowed exact hosts or scoped wildcards like *.example.com or **.example.com)`,
      ),
    );
  await refused(
    launchOf({ unixSockets: { "tmp/x": "allow" } }),
    config('invalid network.allow_unix_sockets[0]: expected a NUL-free absolute path for Linux, got "tmp/x"'),
  );
});

verifies("network.launch:unenforced", async ({ peer }) => {
  const connection = await peer();
  const overrides = {
    enforceManagedNetwork: true,
    managedNetwork: { loopbackPorts: [1], allowLocalBinding: true },
  };
  expect(await outputOf(connection, "p", ["/usr/bin/env"], { ...overrides, env: { A: "1" } })).toBe("A=1\n");
});

verifies("network.http:forward", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
    const headers = [
      "X-Kept: 1",
      "Proxy-Authorization: Basic abc",
      "Proxy-Connection: close",
      "X-Dropped: 1",
    ];
    const request = get(`http://127.0.0.1:${port}/a?b=c`, headers);
    const { status, body } = await ask(http, request.replace(": close", ": close, x-dropped"));
    expect(status).toBe(200);
    const received = JSON.parse(body) as { method: string; url: string; headers: Record<string, string> };
    expect([received.method, received.url, received.headers["host"], received.headers["x-kept"]]).toEqual([
      "GET",
      "/a?b=c",
      `127.0.0.1:${port}`,
      "1",
    ]);
    for (const name of ["proxy-authorization", "proxy-connection", "x-dropped"])
      expect(received.headers).not.toHaveProperty(name);
    const chunked = `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`;
    expect(JSON.parse((await ask(http, chunked)).body)).toMatchObject({ method: "POST", body: "abc" });
  });
});

verifies("network.http:blocked", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", { domains: { "bad.test": "deny" } });
  const blocked = async (url: string): Promise<unknown> => {
    const { status, head, body } = await ask(http, get(url));
    return [
      status,
      /x-proxy-error: (.*)/.exec(head)?.[1]?.trim(),
      /content-type: (.*)/.exec(head)?.[1]?.trim(),
      body,
    ];
  };
  expect(await blocked("http://example.com/")).toEqual([
    403,
    "blocked-by-allowlist",
    "application/json",
    '{"status":"blocked","host":"example.com","reason":"not_allowed","decision":"deny","source":"baseline_policy","protocol":"http","port":80,"message":"Domain not in allowlist."}',
  ]);
  expect(await blocked("http://bad.test:99/")).toEqual([
    403,
    "blocked-by-denylist",
    "application/json",
    '{"status":"blocked","host":"bad.test","reason":"denied","decision":"deny","source":"baseline_policy","protocol":"http","port":99,"message":"Domain denied by the sandbox policy."}',
  ]);
});

verifies("network.http:host", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
    for (const [url, host] of [
      [`http://127.0.0.1:${port}/`, "example.com"],
      ["http://example.com/", `127.0.0.1:${port}`],
      [`http://127.0.0.1:${port}@example.com/`, `127.0.0.1:${port}`],
    ]) {
      const request = `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      expect(await ask(http, request)).toMatchObject({
        status: 400,
        body: "Host header does not match request target",
      });
    }
  });
});

verifies("network.http:failure", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
  expect(await ask(http, get("http://127.0.0.1:1/"))).toMatchObject({
    status: 502,
    body: "upstream failure",
  });
});

verifies("network.http:unix-socket", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", { unixSockets: { "/tmp/x.sock": "allow" } });
  const request = get("http://localhost/", ["X-Unix-Socket: /tmp/x.sock"]);
  expect(await ask(http, request)).toMatchObject({ status: 501, body: "unix sockets unsupported" });
});

verifies("network.http:connect", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http } = await startProxied(connection, "p", {
      domains: { "127.0.0.1": "allow", "bad.test": "deny" },
    });
    const tunnel = (host: string, rest = ""): string =>
      `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n${rest}`;
    const inside = "GET /inside HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const opened = (await exchange(http, tunnel(`127.0.0.1:${port}`, inside))).toString();
    expect(opened).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*"url":"\/inside"/);
    expect(await ask(http, tunnel("example.com:443"))).toMatchObject({
      status: 403,
      body: "Domain not in allowlist.",
    });
    expect(await ask(http, tunnel("bad.test:443"))).toMatchObject({
      status: 403,
      body: "Domain denied by the sandbox policy.",
    });
  });
});

verifies("network.socks:connect", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { socks } = await startProxied(connection, "p", {
      domains: { "127.0.0.1": "allow", localhost: "allow" },
    });
    const inside = Buffer.from("GET /inside HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    for (const host of [[127, 0, 0, 1], "localhost"]) {
      const received = await exchange(socks, Buffer.concat([socksMessages(host, port), inside]));
      expect([...received.subarray(0, 4)]).toEqual([5, 0, 5, 0]);
      expect(received.toString("latin1")).toContain('"url":"/inside"');
    }
    expect([...(await exchange(socks, socksMessages("example.com", 80)))]).toEqual([
      5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0,
    ]);
    expect([...(await exchange(socks, socksMessages([127, 0, 0, 1], 1)))]).toEqual([
      5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0,
    ]);
  });
});

verifies("network.socks:others", async ({ peer }) => {
  const connection = await peer();
  const { socks } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
  for (const command of [2, 3, 9])
    expect([...(await exchange(socks, socksMessages([127, 0, 0, 1], 80, command)))]).toEqual([
      5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0,
    ]);
  expect([...(await exchange(socks, Buffer.from([5, 1, 2])))]).toEqual([5, 255]);
  expect([...(await exchange(socks, Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0])))]).toEqual([]);
});

// Denied hosts need no name service, so the rules for patterns can be seen without one.
verifies("network.rules:patterns", async ({ peer }) => {
  const connection = await peer();
  const cases: [string, readonly string[], readonly string[]][] = [
    ["*.ok.test", ["a.ok.test", "a.b.ok.test", "A.OK.TEST", "a.ok.test."], ["ok.test", "xok.test"]],
    ["**.ok.test", ["ok.test", "a.b.ok.test"], ["xok.test"]],
    ["OK.Test.", ["ok.test", "ok.test."], ["a.ok.test"]],
    ["ok.test:80", ["ok.test", "ok.test:81"], ["a.ok.test"]],
    ["a*.test", ["a.test", "ab.test", "ab.c.test"], ["b.test"]],
    ["a?.test", ["ab.test"], ["a.test", "abc.test"]],
    ["10.0.*", ["10.0.0.1"], ["10.1.0.1"]],
    ["[::1]", ["[::1]:1", "[0:0:0:0:0:0:0:1]:1"], ["[::2]:1"]],
  ];
  for (const [index, [pattern, matching, others]] of cases.entries()) {
    const { http } = await startProxied(connection, `p${index}`, { domains: { [pattern]: "deny" } });
    for (const host of matching)
      expect([pattern, host, await reasonOf(http, get(`http://${host}/`))]).toEqual([
        pattern,
        host,
        "denied",
      ]);
    for (const host of others)
      expect([pattern, host, await reasonOf(http, get(`http://${host}/`))]).toEqual([
        pattern,
        host,
        "not_allowed",
      ]);
  }
});

verifies("network.rules:deny", async ({ peer }) => {
  const connection = await peer();
  const first = await startProxied(connection, "p", { domains: { "*": "allow", "a.test": "deny" } });
  expect(await reasonOf(first.http, get("http://a.test/"))).toBe("denied");
  const second = await startProxied(connection, "q", {
    domains: { "*.test": "deny", "a.test": "allow", "b.test": "none" },
  });
  expect(await reasonOf(second.http, get("http://a.test/"))).toBe("denied");
  const third = await startProxied(connection, "r", { domains: { "a.test": "none" } });
  expect(await reasonOf(third.http, get("http://a.test/"))).toBe("not_allowed");
});

verifies("network.rules:local", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const any = await startProxied(connection, "p", { allowLocalBinding: false, domains: { "*": "allow" } });
    const hosts =
      "127.0.0.1 localhost 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 224.0.0.1 100.64.0.1 198.18.0.1 192.0.2.1 240.0.0.1 [::1] [::] [::ffff:127.0.0.1] [fe80::1] [fc00::1] [ff02::1] [::127.0.0.1] 2130706433 0x7f000001 127.1 localhost.";
    for (const host of hosts.split(" "))
      expect([host, await reasonOf(any.http, get(`http://${host}:${port}/`))]).toEqual([
        host,
        "not_allowed_local",
      ]);
    const listed = await startProxied(connection, "q", {
      allowLocalBinding: false,
      domains: { "127.0.0.1": "allow", localhost: "allow" },
    });
    expect(await reasonOf(listed.http, get(`http://127.0.0.1:${port}/`))).toBe("200");
    expect(await reasonOf(listed.http, get(`http://localhost:${port}/`))).toBe("200");
    expect(await reasonOf(listed.http, get(`http://127.0.0.2:${port}/`))).toBe("not_allowed_local");
    const wide = await startProxied(connection, "r", {
      allowLocalBinding: false,
      domains: { "127.0.0.*": "allow" },
    });
    expect(await reasonOf(wide.http, get(`http://127.0.0.1:${port}/`))).toBe("not_allowed_local");
    const open = await startProxied(connection, "s", { domains: { "a.test": "allow" } });
    expect(await reasonOf(open.http, get(`http://127.0.0.1:${port}/`))).toBe("not_allowed");
  });
});

verifies("network.rules:local-name", async ({ peer }) => {
  const connection = await peer();
  const names = [hostname().toLowerCase(), "no-such-name.invalid"];
  const domains = Object.fromEntries(names.map((name) => [name, "allow"]));
  const { http } = await startProxied(connection, "p", { allowLocalBinding: false, domains });
  for (const name of names)
    expect([name, await reasonOf(http, get(`http://${name}:1/`))]).toEqual([name, "not_allowed_local"]);
  expect(await reasonOf(http, get("http://other.invalid/"))).toBe("not_allowed");
});

verifies("network.rules:review", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const rules = { domains: { "127.0.0.1": "allow" }, reviewDomains: ["127.0.0.1"] };
    const alone = await startProxied(connection, "p", rules);
    expect(await reasonOf(alone.http, get(`http://127.0.0.1:${port}/`))).toBe("not_allowed");
    const asked = await startProxied(connection, "q", rules, { policyDecisionTimeoutMs: 5000 });
    const answer = reasonOf(asked.http, get(`http://127.0.0.1:${port}/`));
    await decide(connection, { type: "allow" });
    expect(await answer).toBe("200");
  });
});

verifies("network.limited:methods", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http, socks } = await startProxied(connection, "p", {
      mode: "limited",
      domains: { "127.0.0.1": "allow" },
    });
    const url = `http://127.0.0.1:${port}/`;
    for (const method of ["GET", "OPTIONS"])
      expect([method, await reasonOf(http, get(url, [], method))]).toEqual([method, "200"]);
    for (const method of ["POST", "PUT", "DELETE", "TRACE", "PROPFIND"]) {
      const { status, head, body } = await ask(http, get(url, ["Content-Length: 0"], method));
      expect([status, head.includes("x-proxy-error: blocked-by-method-policy")]).toEqual([403, true]);
      expect(JSON.parse(body)).toMatchObject({
        reason: "method_not_allowed",
        source: "mode_guard",
        message: "Method not allowed in limited mode.",
      });
    }
    const upgrade = get(url, ["Upgrade: echo"]).replace("Connection: close", "Connection: Upgrade");
    expect(JSON.parse((await ask(http, upgrade)).body)).not.toHaveProperty("headers.upgrade");
    const tunnel = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
    expect(await ask(http, tunnel)).toMatchObject({ status: 403, body: "MITM required for limited HTTPS." });
    expect((await exchange(socks, socksMessages([127, 0, 0, 1], port)))[3]).toBe(2);
    expect(await reasonOf(http, get("http://example.com/", [], "POST"))).toBe("not_allowed");
  });
});

/** The next decision about a process that is reported. */
async function reported(peer: RawPeer, processId: string): Promise<Record<string, unknown>> {
  return (await peer.nextNotification("network/policyDecision", processId)).params as Record<string, unknown>;
}

verifies("network.decision:report", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http, socks } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
    const common = {
      processId: "p",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      scope: "domain",
      client: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      policyOverride: false,
    };
    await ask(http, get(`http://127.0.0.1:${port}/`));
    expect(await reported(connection, "p")).toEqual({
      ...common,
      decision: "allow",
      source: "baseline_policy",
      reason: "allow",
      protocol: "http",
      host: "127.0.0.1",
      port,
      method: "GET",
    });
    const denied = {
      ...common,
      decision: "deny",
      source: "baseline_policy",
      reason: "not_allowed",
      host: "example.com",
    };
    await ask(http, get("http://Example.com./", [], "POST"));
    expect(await reported(connection, "p")).toEqual({
      ...denied,
      protocol: "http",
      port: 80,
      method: "POST",
    });
    await ask(http, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
    expect(await reported(connection, "p")).toEqual({
      ...denied,
      protocol: "https_connect",
      port: 443,
      method: "CONNECT",
    });
    await exchange(socks, socksMessages("example.com", 22));
    expect(await reported(connection, "p")).toEqual({ ...denied, protocol: "socks5_tcp", port: 22 });
  });
});

/** Answers the next question of the server with a result. */
async function decide(peer: RawPeer, decision: unknown): Promise<{ id: unknown; params: unknown }> {
  const { id, params } = await question(peer);
  peer.sendText(JSON.stringify({ id, result: { decision } }));
  return { id, params };
}

async function question(peer: RawPeer): Promise<{ id: unknown; params: unknown }> {
  const { id, params } = await peer.next(
    (message) => message.method === "network/policyRequest" && message.id !== undefined,
  );
  return { id, params };
}

verifies("network.ask:answers", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http, socks } = await startProxied(connection, "p", {}, { policyDecisionTimeoutMs: 60_000 });
    const request = get(`http://127.0.0.1:${port}/`);
    const allowed = ask(http, request);
    expect(await decide(connection, { type: "allow" })).toEqual({
      id: 1,
      params: { processId: "p", request: { protocol: "http", host: "127.0.0.1", port } },
    });
    expect((await allowed).status).toBe(200);
    expect(await reported(connection, "p")).toMatchObject({
      decision: "allow",
      source: "decider",
      reason: "not_allowed",
      policyOverride: true,
    });
    for (const [decision, reason, label] of [
      [{ type: "deny", reason: "too far" }, "too far", "blocked-by-policy"],
      [{ type: "ask", reason: "who knows" }, "who knows", "blocked-by-policy"],
      [{ type: "deny", reason: "" }, "policy_denied", "blocked-by-policy"],
      [{ type: "deny", reason: "denied" }, "denied", "blocked-by-denylist"],
      [{ type: "deny", reason: "x".repeat(1024) }, "x".repeat(1024), "blocked-by-policy"],
    ] as const) {
      const blocked = ask(http, request);
      await decide(connection, decision);
      const { head, body } = await blocked;
      expect(head).toContain(`x-proxy-error: ${label}`);
      expect(JSON.parse(body)).toMatchObject({ reason, decision: decision.type, source: "decider" });
      expect(await reported(connection, "p")).toMatchObject({
        reason,
        decision: decision.type,
        source: "decider",
        policyOverride: false,
      });
    }
    const tunnel = ask(http, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(await decide(connection, { type: "deny", reason: "no" })).toMatchObject({
      id: 7,
      params: { request: { protocol: "https_connect" } },
    });
    expect((await tunnel).body).toBe("Request blocked by network policy.");
    const socksed = exchange(socks, socksMessages([127, 0, 0, 1], port));
    expect(await decide(connection, { type: "ask", reason: "no" })).toMatchObject({
      id: 8,
      params: { request: { protocol: "socks5_tcp" } },
    });
    expect((await socksed)[3]).toBe(2);
  });
});

verifies("network.ask:not-asked", async ({ peer }) => {
  const connection = await peer();
  const rules = { allowLocalBinding: false, domains: { "bad.test": "deny", "127.0.0.2": "allow" } };
  const { http } = await startProxied(connection, "p", rules, { policyDecisionTimeoutMs: 60_000 });
  expect(await reasonOf(http, get("http://bad.test/"))).toBe("denied");
  expect(await reasonOf(http, get("http://127.0.0.1/"))).toBe("not_allowed_local");
  expect(await reasonOf(http, get("http://127.0.0.2:1/"))).toBe("502");
  const silent = await startProxied(connection, "q", rules);
  expect(await reasonOf(silent.http, get("http://a.test/"))).toBe("not_allowed");
  // The first question is about the first host that is not listed.
  const asked = reasonOf(http, get("http://a.test/"));
  expect(await decide(connection, { type: "deny", reason: "no" })).toMatchObject({ id: 1 });
  expect(await asked).toBe("no");
});

verifies("network.ask:invalid", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", {}, { policyDecisionTimeoutMs: 60_000 });
  for (const answer of [
    { result: {} },
    { result: null },
    { result: { decision: { type: "bogus" } } },
    { result: { decision: { type: "deny" } } },
    { result: { decision: { type: "deny", reason: "x".repeat(1025) } } },
    { result: { decision: { type: "deny", reason: "a\nb" } } },
    { error: { code: -32601, message: "no" } },
  ]) {
    const blocked = ask(http, get("http://a.test/"));
    const { id } = await question(connection);
    connection.sendText(JSON.stringify({ id, ...answer }));
    expect(JSON.parse((await blocked).body)).toMatchObject({ reason: "not_allowed", source: "decider" });
  }
  expect(connection.isClosed).toBe(false);
});

verifies("network.ask:twice", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", {}, { policyDecisionTimeoutMs: 60_000 });
  const first = reasonOf(http, get("http://a.test/"));
  const { id } = await decide(connection, { type: "deny", reason: "first" });
  connection.sendText(JSON.stringify({ id, result: { decision: { type: "allow" } } }));
  expect(await first).toBe("first");
  const second = reasonOf(http, get("http://a.test/"));
  await decide(connection, { type: "deny", reason: "second" });
  expect(await second).toBe("second");
});

verifies(
  "network.ask:time-out",
  async ({ peer }) => {
    const connection = await peer();
    const { http } = await startProxied(connection, "p", {}, { policyDecisionTimeoutMs: 200 });
    const before = performance.now();
    const blocked = reasonOf(http, get("http://a.test/"));
    const { id } = await question(connection);
    expect(await blocked).toBe("not_allowed");
    expect(performance.now() - before).toBeGreaterThan(5_000);
    connection.sendText(JSON.stringify({ id, result: { decision: { type: "allow" } } }));
    expect(await reported(connection, "p")).toMatchObject({ source: "decider", reason: "not_allowed" });
    expect(await outputOf(connection, "q", ["echo", "alive"])).toBe("alive\n");
  },
  { concurrent: true },
);

verifies("network.ask:gone", async ({ connect: open }) => {
  const connection = await open();
  const { sessionId } = await connection.handshake();
  const { http } = await startProxied(connection, "p", {}, { policyDecisionTimeoutMs: 60_000 });
  const asked = reasonOf(http, get("http://a.test/"));
  await question(connection);
  connection.drop();
  expect(await asked).toBe("not_allowed");
  expect(await reasonOf(http, get("http://a.test/"))).toBe("not_allowed");
  const again = await open();
  await again.handshake({ resumeSessionId: sessionId });
  const blocked = reasonOf(http, get("http://a.test/"));
  expect(await decide(again, { type: "deny", reason: "back" })).toMatchObject({ id: 1 });
  expect(await blocked).toBe("back");
});

/** What the real client sends for a workspace without network. */
function sandbox(network: "restricted" | "enabled" = "restricted"): Record<string, unknown> {
  const special = (kind: string): unknown => ({ type: "special", value: { kind } });
  return {
    permissions: {
      type: "managed",
      file_system: { type: "restricted", entries: [{ path: special("root"), access: "read" }] },
      network,
    },
    cwd: "file:///",
    workspaceRoots: [],
    windowsSandboxLevel: "disabled",
  };
}

const PROFILES = [
  sandbox(),
  sandbox("enabled"),
  { ...sandbox(), permissions: { type: "disabled" } },
  { ...sandbox(), permissions: { type: "external", network: "enabled" } },
];

verifies("network.sandbox:proxied", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    for (const [index, context] of PROFILES.entries()) {
      const argv = [process.execPath, fixture("reach-network.mjs"), String(port)];
      const overrides = {
        sandbox: context,
        enforceManagedNetwork: true,
        ...launchOf({ domains: { "127.0.0.1": "allow" } }),
      };
      const output = await outputOf(connection, `p${index}`, argv, overrides);
      expect(JSON.parse(output)).toEqual({
        proxied: "HTTP/1.1 200 OK",
        blocked: "HTTP/1.1 403 Forbidden",
        socks: "greeted",
        direct: "ECONNREFUSED",
        own: "own",
      });
    }
  });
});

verifies("network.sandbox:unenforced", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const argv = [process.execPath, fixture("reach-network.mjs"), String(port)];
    const overrides = { sandbox: sandbox(), ...launchOf({ domains: { "127.0.0.1": "allow" } }) };
    const output = await outputOf(connection, "p", argv, overrides);
    expect(new Set(Object.values(JSON.parse(output) as object))).toEqual(new Set(["EPERM"]));
  });
});

verifies("network.sandbox:no-proxy", async ({ peer }) => {
  const connection = await peer();
  const overrides = { sandbox: sandbox("enabled"), enforceManagedNetwork: true };
  // One server refuses the start, the other starts something that fails before the program.
  const outcome = await run(connection, "p", ["echo", "ran"], overrides).then(
    ({ exitCode, stdout }) => [exitCode, stdout.toString()],
    (error: { code: number }) => [error.code, ""],
  );
  expect([
    [101, ""],
    [-32602, ""],
  ]).toContainEqual(outcome);
});

verifies("network.rules:deny-address", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", {
    domains: { "*": "allow", "127.0.0.1": "deny", "::1": "deny" },
  });
  for (const host of ["127.0.0.1", "[::ffff:127.0.0.1]:1", "localhost", "2130706433", "127.1"])
    expect([host, await reasonOf(http, get(`http://${host}/`))]).toEqual([host, "denied"]);
});

verifies("network.rules:own-listener", async ({ peer, target }) => {
  const connection = await peer();
  const port = Number(new URL(target.url ?? "").port);
  const { http, socks } = await startProxied(connection, "p", { domains: { "*": "allow" } });
  // The proxy of another process has other rules.
  const other = await startProxied(connection, "q");
  for (const own of [other.http, other.socks, http])
    expect(await reasonOf(http, get(`http://127.0.0.1:${own}/`))).toBe("not_allowed_local");
  for (const host of [
    "127.0.0.1",
    "127.0.0.2",
    "localhost",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[::]",
    "2130706433",
  ])
    expect([host, await reasonOf(http, get(`http://${host}:${port}/readyz`))]).toEqual([
      host,
      "not_allowed_local",
    ]);
  expect((await ask(http, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).status).toBe(403);
  expect((await exchange(socks, socksMessages([127, 0, 0, 1], port)))[3]).toBe(2);
});

verifies("network.http:upgrade", async ({ peer }) => {
  const connection = await peer();
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const isAsked = /^upgrade: echo\r$/im.test(head.toString());
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: ${isAsked ? "echo" : "?"}\r\n\r\nnow`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const { http } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
    const request = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`;
    expect((await exchange(http, request)).toString()).toMatch(
      /^HTTP\/1\.1 101 [^]*upgrade: echo\r\n\r\nnow$/,
    );
  } finally {
    server.close();
  }
});

verifies("network.http:connect-failure", async ({ peer }) => {
  const connection = await peer();
  const { http } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
  expect(await ask(http, "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")).toMatchObject({
    status: 502,
    body: "upstream failure",
  });
});

verifies("network.http:https-url", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const { http } = await startProxied(connection, "p", { domains: { "127.0.0.1": "allow" } });
    expect(await ask(http, get(`https://127.0.0.1:${port}/`))).toMatchObject({
      status: 501,
      body: "use CONNECT for https",
    });
    expect(await reasonOf(http, get("https://example.com/"))).toBe("not_allowed");
  });
});

verifies("network.sandbox:other-proxy", async ({ peer }) => {
  const connection = await peer();
  await withEcho(async (port) => {
    const overrides = {
      sandbox: sandbox(),
      enforceManagedNetwork: true,
      env: { HTTP_PROXY: `http://127.0.0.1:${port}` },
      managedNetwork: { loopbackPorts: [port] },
    };
    await expectError(
      connection.request("process/start", start("p", ["true"], overrides)),
      -32602,
      /^enforceManagedNetwork needs a networkProxy/,
    );
  });
});

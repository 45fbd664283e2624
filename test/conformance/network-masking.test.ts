import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { expect } from "vitest";
import { exchangeOver, providerFor, SECRET, secured, withMasking } from "./masked-process.ts";
import { ask, get, launchOf, reasonOf, socksMessages } from "./proxied-process.ts";
import { expectError, start, verifies } from "./verifies.ts";

const CERTIFICATE_NAMES =
  "SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT NPM_CONFIG_CAFILE npm_config_cafile BUNDLE_SSL_CA_CERT CARGO_HTTP_CAINFO CODEX_CA_CERTIFICATE".split(
    " ",
  );
const GITHUB = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const OPENAI = "sk-proj-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV";

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;
const lines = (port: number, path: string, headers: readonly string[] = [], method = "GET"): string[] => [
  `${method} ${path} HTTP/1.1`,
  `Host: localhost:${port}`,
  "Connection: close",
  ...headers,
];

verifies("network.masking:announced", async ({ connect: open }) => {
  const peer = await open();
  const { environmentInfo } = await peer.handshake();
  expect(environmentInfo.capabilities).toMatchObject({
    credentialMasking: true,
    credentialMaskingCustomProviders: true,
  });
});

verifies("network.masking:shape", async ({ peer }) => {
  const connection = await peer();
  const refused = (proxy: Record<string, unknown>): Promise<unknown> =>
    expectError(connection.request("process/start", start("p", ["true"], launchOf(proxy))), -32602);
  for (const credentialMasking of ["true", 1, null]) await refused({ credentialMasking });
  for (const credentialProviders of [null, [], { p: null }, { p: 3 }]) await refused({ credentialProviders });
  const provider = { env: ["A_KEY"], patterns: ["k-[a-z]{20}"], url_prefixes: ["https://a.test"] };
  for (const wrong of [
    { urlPrefixes: ["https://a.test"] },
    { env: 3 },
    { env: [3] },
    { auth: ["digest"] },
    { auth: "bearer" },
    { header: 3 },
  ])
    await refused({ credentialMasking: true, credentialProviders: { p: { ...provider, ...wrong } } });
  const accepted = { ...provider, url_prefix_from_env: null, auth: [], header: null, prefix: null };
  await connection.request(
    "process/start",
    start("q", ["true"], launchOf({ credentialMasking: true, credentialProviders: { p: accepted } })),
  );
});

verifies("network.masking:environment", async (context) => {
  await withMasking(context, async ({ masked }) => {
    const { env, standIn } = await masked({
      env: { A_KEY: SECRET, COPY: SECRET, EMBEDDED: `https://u:${SECRET}@a.test/`, OTHER: "k-short" },
    });
    expect(standIn).toMatch(/^k-[a-z]{20}$/);
    expect(standIn).not.toBe(SECRET);
    expect(env).toMatchObject({
      COPY: standIn,
      EMBEDDED: `https://u:${standIn}@a.test/`,
      OTHER: "k-short",
      CODEX_NETWORK_PROXY_CREDENTIAL_BROKER_ACTIVE: "1",
    });
    const marker = JSON.parse(env["CODEX_NETWORK_PROXY_BROKERED_CREDENTIALS"] ?? "") as unknown[];
    expect(marker).toContainEqual(["A_KEY", standIn]);
    expect(marker).toContainEqual(["@alias:COPY", standIn]);
    expect(Object.values(env).join("\n")).not.toContain(SECRET);
  });
});

verifies("network.masking:certificates", async (context) => {
  await withMasking(context, async ({ masked, port }) => {
    const { env, ask: askSecurely, standIn } = await masked();
    const [path = "", ...others] = new Set(CERTIFICATE_NAMES.map((name) => env[name]));
    expect(others).toEqual([]);
    expect(existsSync(path)).toBe(true);
    // The machine's authorities and one more.
    expect(readFileSync(path, "latin1").match(/BEGIN CERTIFICATE/g)!.length).toBeGreaterThan(1);
    const answer = await askSecurely(lines(port, "/v1/x", [`Authorization: Bearer ${standIn}`]));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    const own = await masked({ env: { A_KEY: SECRET, CURL_CA_BUNDLE: "/own.pem" } });
    expect(own.env["CURL_CA_BUNDLE"]).toBe("/own.pem");
  });
});

verifies("network.masking:off", async (context) => {
  await withMasking(context, async ({ masked }) => {
    const { env } = await masked({ proxy: { credentialMasking: false } });
    expect(env["A_KEY"]).toBe(SECRET);
    for (const name of [...CERTIFICATE_NAMES, "CODEX_NETWORK_PROXY_CREDENTIAL_BROKER_ACTIVE"])
      expect(env).not.toHaveProperty(name);
  });
});

verifies("network.masking:built-in", async (context) => {
  await withMasking(context, async ({ masked }) => {
    const given = { GH_TOKEN: GITHUB, GITHUB_TOKEN: GITHUB.replace("ghp", "ghs"), OPENAI_API_KEY: OPENAI };
    const { env } = await masked({ env: given });
    expect(env["GH_TOKEN"]).toMatch(/^ghp_\w{36}$/);
    expect(env["GITHUB_TOKEN"]).toMatch(/^ghs_\w{36}$/);
    expect(env["OPENAI_API_KEY"]).toMatch(/^sk-proj-\w{40,}$/);
    for (const [name, value] of Object.entries(given)) expect(env[name]).not.toBe(value);
    const enterprise = { GH_ENTERPRISE_TOKEN: GITHUB, GITHUB_ENTERPRISE_TOKEN: GITHUB, GH_HOST: "ghe.test" };
    const { env: hidden } = await masked({ env: enterprise });
    expect(hidden["GH_ENTERPRISE_TOKEN"]).toMatch(/^ghp_\w{36}$/);
    expect(Object.values(hidden).join("\n")).not.toContain(GITHUB);
  });
});

verifies("network.masking:openai-url", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { env, ask: askSecurely } = await masked({
      env: { OPENAI_API_KEY: OPENAI, OPENAI_BASE_URL: `https://localhost:${port}/v1` },
    });
    await askSecurely(lines(port, "/v1/models", [`Authorization: Bearer ${env["OPENAI_API_KEY"]}`]));
    expect(received.at(-1)?.headers.authorization).toBe(`Bearer ${OPENAI}`);
  });
});

verifies("network.masking:swap", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { ask: askSecurely, standIn } = await masked();
    for (const [header, name, arrives] of [
      [`Authorization: Bearer ${standIn}`, "authorization", `Bearer ${SECRET}`],
      [`Authorization: token ${standIn}`, "authorization", `token ${SECRET}`],
      [`Authorization: ${basic(`user:${standIn}`)}`, "authorization", basic(`user:${SECRET}`)],
      [`Authorization: ${basic(`${standIn}:`)}`, "authorization", basic(`${SECRET}:`)],
      [`X-Key: K ${standIn}`, "x-key", `K ${SECRET}`],
    ] as const) {
      expect(await askSecurely(lines(port, "/v1/x?a=b", [header]))).toMatch(/^HTTP\/1\.1 200 /);
      expect([received.at(-1)?.url, received.at(-1)?.headers[name]]).toEqual(["/v1/x?a=b", arrives]);
    }
  });
});

verifies("network.masking:elsewhere", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { ask: askSecurely, standIn } = await masked();
    const bearer = `Authorization: Bearer ${standIn}`;
    for (const path of ["/v2", "/v10", "/v1/../v2", "/v1/%2e%2e/v2", "/v1%2f..%2fv2"]) {
      await askSecurely(lines(port, path, [bearer]));
      expect([received.at(-1)?.url, received.at(-1)?.headers.authorization]).toEqual([
        path,
        `Bearer ${standIn}`,
      ]);
    }
    for (const header of [`X-Other: ${standIn}`, `Authorization: Bearer x${standIn}`, `X-Key: ${standIn}`])
      await askSecurely(lines(port, "/v1/x", [header]));
    await askSecurely(lines(port, `/v1/x?k=${standIn}`));
    expect(received).toHaveLength(9);
    expect(JSON.stringify(received)).not.toContain(SECRET);
  });
});

verifies("network.masking:host", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { ask: askSecurely, standIn } = await masked();
    const bearer = `Authorization: Bearer ${standIn}`;
    for (const host of ["other.test", `127.0.0.1:${port}`]) {
      const answer = await askSecurely(["GET /v1/x HTTP/1.1", `Host: ${host}`, "Connection: close", bearer]);
      expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*host mismatch$/);
    }
    expect(received).toEqual([]);
  });
});

verifies("network.masking:host-port", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { ask: askSecurely } = await masked();
    const answer = await askSecurely(lines(port + 1, "/v1/x"));
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*host mismatch$/);
    expect(received).toEqual([]);
  });
});

verifies("network.masking:upstream", async (context) => {
  await withMasking(context, async ({ masked, untrusted, received }) => {
    const { ask: askSecurely, standIn } = await masked({
      provider: { url_prefixes: [`https://localhost:${untrusted}`, "https://localhost:1"] },
    });
    const bearer = `Authorization: Bearer ${standIn}`;
    for (const port of [untrusted, 1])
      expect(await askSecurely(lines(port, "/", [bearer]), port)).toMatch(/^HTTP\/1\.1 502 /);
    expect(received).toEqual([]);
  });
});

verifies("network.masking:limited", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { ask: askSecurely, standIn } = await masked({
      proxy: { mode: "limited" },
      provider: { url_prefixes: ["https://other.test"] },
    });
    expect(standIn).not.toBe(SECRET);
    expect(await askSecurely(lines(port, "/"))).toMatch(/^HTTP\/1\.1 200 /);
    const refused = await askSecurely(lines(port, "/", ["Content-Length: 0"], "POST"));
    expect(refused).toMatch(/^HTTP\/1\.1 403 [^]*Method not allowed in limited mode\.$/);
    expect(refused).toContain("x-proxy-error: blocked-by-method-policy");
    expect(received.map(({ method }) => method)).toEqual(["GET"]);
  });
});

verifies("network.masking:socks", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { socks, env, standIn } = await masked();
    const socket = connect(socks, "127.0.0.1");
    const [method, request] = [
      socksMessages("localhost", port).subarray(0, 3),
      socksMessages("localhost", port).subarray(3),
    ];
    socket.write(method);
    await once(socket, "data");
    socket.write(request);
    await once(socket, "data");
    const secure = await secured(socket, readFileSync(env["SSL_CERT_FILE"]!, "latin1"));
    await exchangeOver(
      secure,
      `${lines(port, "/v1/x", [`Authorization: Bearer ${standIn}`]).join("\r\n")}\r\n\r\n`,
    );
    expect(received.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`);
  });
});

verifies("network.masking:variable", async (context) => {
  await withMasking(context, async ({ masked, port, received }) => {
    const { ask: askSecurely, standIn } = await masked({
      provider: { url_prefixes: [], url_prefix_from_env: "A_URL" },
      env: { A_KEY: SECRET, A_URL: `https://localhost:${port}/v3` },
    });
    for (const path of ["/v3/x", "/v1/x"])
      await askSecurely(lines(port, path, [`Authorization: Bearer ${standIn}`]));
    expect(received.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${SECRET}`,
      `Bearer ${standIn}`,
    ]);
  });
});

verifies("network.masking:every-program", async (context) => {
  await withMasking(context, async ({ masked }) => {
    for (const argv of [
      ["/bin/sh", "-c"],
      ["/bin/bash", "-lc"],
      ["/bin/bash", "--norc", "-c"],
    ]) {
      const { standIn } = await masked({ argv: [...argv, "env; echo; exec sleep 600"] });
      expect(standIn).toMatch(/^k-[a-z]{20}$/);
      expect(standIn).not.toBe(SECRET);
    }
  });
});

verifies("network.masking:only-bash", async (context) => {
  await withMasking(context, async ({ masked }) => {
    for (const argv of [
      ["/bin/sh", "-c"],
      ["/bin/bash", "-lc"],
      ["/bin/bash", "--norc", "-c"],
    ])
      expect((await masked({ argv: [...argv, "env; echo; exec sleep 600"] })).standIn).toBe(SECRET);
  });
});

verifies("network.masking:random", async (context) => {
  await withMasking(context, async ({ masked }) => {
    const [one, other] = [await masked(), await masked()];
    expect(one.standIn).not.toBe(other.standIn);
  });
});

verifies("network.masking:shared", async (context) => {
  await withMasking(context, async ({ masked }) => {
    const [one, other] = [await masked(), await masked()];
    expect(one.standIn).toBe(other.standIn);
  });
});

const INVALID: readonly [Record<string, unknown>, string][] = [
  [{ env: [] }, "credential provider `vendor` has no environment keys"],
  [{ env: ["A-KEY"] }, "credential provider `vendor` has an invalid environment key"],
  [{ env: ["GH_TOKEN"] }, "credential provider `vendor` overlaps"],
  [{ patterns: [] }, "credential provider `vendor` has no credential patterns"],
  [{ url_prefixes: [] }, "credential provider `vendor` has no destination URL prefixes"],
  [{ url_prefixes: ["http://a.test"] }, "invalid destination for credential provider `vendor`: "],
  [{ url_prefixes: ["https://u@a.test"] }, "invalid destination for credential provider `vendor`: "],
  [{ url_prefixes: ["https://a.test/?q"] }, "invalid destination for credential provider `vendor`: "],
  [{ url_prefixes: ["https://*"] }, "invalid destination for credential provider `vendor`: "],
  [{ header: null, prefix: null }, "credential provider `vendor` requires a header name exactly"],
  [{ auth: ["bearer"] }, "credential provider `vendor` requires a header name exactly"],
  [{ auth: ["bearer"], header: null }, "credential provider `vendor` requires header authentication"],
];

verifies("network.masking:invalid", async (context) => {
  await withMasking(context, async ({ masked, port }) => {
    for (const [wrong, message] of INVALID)
      await expect(masked({ provider: { ...providerFor(port), ...wrong } })).rejects.toThrow(
        `invalid network proxy config: ${message}`,
      );
  });
});

verifies("network.masking:ignored", async (context) => {
  await withMasking(context, async ({ masked, port }) => {
    for (const [wrong] of INVALID)
      expect((await masked({ provider: { ...providerFor(port), ...wrong } })).standIn).toBe(SECRET);
  });
});

verifies("network.masking:any-value", async (context) => {
  await withMasking(context, async ({ masked }) => {
    for (const provider of [
      { patterns: ["zz[a-z]{20}"] },
      { patterns: ["("] },
      { url_prefixes: [], url_prefix_from_env: "NONE" },
    ])
      expect((await masked({ provider })).standIn).not.toBe(SECRET);
    const { env } = await masked({ env: { A_KEY: "short" } });
    expect(env).not.toHaveProperty("A_KEY");
  });
});

verifies("network.masking:matching-values", async (context) => {
  await withMasking(context, async ({ masked }) => {
    for (const provider of [
      { patterns: ["zz[a-z]{20}"] },
      { patterns: ["("] },
      { url_prefixes: [], url_prefix_from_env: "NONE" },
    ])
      expect((await masked({ provider })).standIn).toBe(SECRET);
    const { env } = await masked({ env: { A_KEY: SECRET, OTHER: "k-zyxwvutsrqponmlkjihg" } });
    expect(env["OTHER"]).not.toBe("k-zyxwvutsrqponmlkjihg");
  });
});

verifies("network.masking:restored", async (context) => {
  await withMasking(context, async ({ masked, port }) => {
    const { ask: askSecurely, standIn } = await masked();
    const answer = await askSecurely(lines(port, "/v1/x", [`Authorization: Bearer ${standIn}`]));
    expect(answer).toContain(`"authorization":"Bearer ${standIn}"`);
    expect(answer).not.toContain(SECRET);
  });
});

verifies("network.masking:repeated", async (context) => {
  await withMasking(context, async ({ masked, port }) => {
    const { ask: askSecurely, standIn } = await masked();
    const answer = await askSecurely(lines(port, "/v1/x", [`Authorization: Bearer ${standIn}`]));
    expect(answer).toContain(`"authorization":"Bearer ${SECRET}"`);
  });
});

verifies("network.masking:misdirected", async (context) => {
  await withMasking(context, async ({ masked, port }) => {
    const { http, standIn } = await masked();
    const request = get(`http://127.0.0.1:${port}/`, [`Authorization: Bearer ${standIn}`]);
    expect(await reasonOf(http, request)).toBe("stand_in_misdirected");
    expect((await ask(http, request)).head).toContain("x-proxy-error: blocked-by-secret-policy");
  });
});

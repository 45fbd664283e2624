import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { createAuthority } from "../fixtures/certificates.ts";
import { body, started } from "./codex-output.ts";
import { call } from "./mock-model.ts";
import { serverKind, Workspace } from "./workspace.ts";

const SECRET = "k-abcdefghijklmnopqrst";
const PATIENT = { yield_time_ms: 30_000 };

/** A web server behind TLS, which only those believe who trust its authority. It keeps what it was sent. */
async function openVault() {
  const authority = createAuthority();
  const { cert, key } = authority.issue("vault");
  const seen: string[] = [];
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`);
    response.end(`you sent ${request.headers.authorization}\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    ca: authority.ca,
    seen,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
      authority[Symbol.dispose]();
    },
  };
}

it(`codex exec uses a secret on ${serverKind === "codex" ? "its own" : "this"} server, and its commands do not have it`, async () => {
  using vault = await openVault();
  await using workspace = await Workspace.open([], { SSL_CERT_FILE: vault.ca, A_KEY: SECRET });
  const url = `https://localhost:${vault.port}/v1/x`;
  const commands = [
    `curl -sS ${url} -H "Authorization: Bearer $A_KEY"`,
    `curl -sS ${url} -u "me:$A_KEY" -x "$ALL_PROXY"`,
    "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; true",
    `curl -sS ${url.replace("/v1", "/v2")} -H "Authorization: Bearer $A_KEY"`,
  ];
  const { outputs, exit } = await workspace.run(
    commands.map((cmd) => call("exec_command", { cmd, login: false, ...PATIENT })),
    {
      sandbox: "workspace-write",
      config: [
        "credential_masking = true",
        "[features.network_proxy]",
        "enabled = true",
        'domains = { "localhost" = "allow" }',
        "[features.network_proxy.credentials.vault]",
        'env = ["A_KEY"]',
        'patterns = ["k-[a-z]{20}"]',
        `url_prefixes = ["https://localhost:${vault.port}/v1"]`,
        'auth = ["bearer", "basic"]',
        "[sandbox_workspace_write]",
        "network_access = true",
      ].join("\n"),
    },
  );
  const basic = `Basic ${Buffer.from(`me:${SECRET}`).toString("base64")}`;
  expect(vault.seen.slice(0, 2)).toEqual([`/v1/x Bearer ${SECRET}`, `/v1/x ${basic}`]);
  const [standIn = ""] = /k-[a-z]{20}/.exec(outputs[2]!.replaceAll(SECRET, "")) ?? [];
  expect(outputs[2]).not.toContain(SECRET);
  expect(vault.seen.at(-1)).toMatch(/^\/v2\/x Bearer k-[a-z]{20}$/);
  expect(vault.seen.at(-1)).not.toContain(SECRET);
  // The client has asked for it, and found nothing to complain about.
  expect(started(workspace.proxy)[0]?.params?.["networkProxy"]).toMatchObject({
    proxy: { credentialMasking: true, credentialProviders: { vault: { env: ["A_KEY"] } } },
  });
  expect(JSON.stringify(exit.events)).not.toContain("Credential masking is unavailable");
  // Codex's own server lets an answer repeat the secret.
  if (serverKind === "ours") {
    expect(JSON.stringify([outputs, workspace.proxy.messages, exit])).not.toContain(SECRET);
    expect(body(outputs[0]!)).toMatch(/^you sent Bearer k-[a-z]{20}\n$/);
    expect(standIn).not.toBe("");
  }
});

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collect } from "../conformance/process-events.ts";
import { launchOf } from "../conformance/proxied-process.ts";
import { openWebSocketPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { entry, readAll, restrictedTo } from "../conformance/sandbox-context.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { start } from "../conformance/verifies.ts";
import { type Authority, createAuthority } from "../fixtures/certificates.ts";

const SECRET = "k-abcdefghijklmnopqrst";
const STAND_IN = /k-[a-z]{20}/;

let authority: Authority;
let directory: string;
let server: ServerProcess;
let peer: RawPeer;
let url: string;
/** What the secret's host was sent. */
const sent: (string | undefined)[] = [];
const vaults: ReturnType<typeof createServer>[] = [];
let count = 0;

beforeAll(async () => {
  authority = createAuthority();
  directory = mkdtempSync("/var/tmp/exec-server-secrets-");
  const { cert, key } = authority.issue("vault");
  const vault = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    sent.push(request.headers.authorization);
    response.end(`got ${request.headers.authorization}\n`);
  });
  vaults.push(vault);
  vault.listen(0, "127.0.0.1");
  await once(vault, "listening");
  url = `https://localhost:${(vault.address() as AddressInfo).port}/v1`;
  server = await launch("ours", ["--listen", "ws://127.0.0.1:0", "--audit", join(directory, "audit.log")], {
    env: { SSL_CERT_FILE: authority.ca, A_KEY: SECRET },
  });
  peer = await openWebSocketPeer(await server.banner());
  await peer.handshake();
});

afterAll(async () => {
  peer.drop();
  await server.stop();
  for (const vault of vaults) vault.closeAllConnections();
  for (const vault of vaults) vault.close();
  authority[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs a command that inherits the secret in a sandbox whose network is the proxy. */
async function run(command: string, entries: readonly object[] = [readAll]): Promise<string> {
  const processId = `p${(count += 1)}`;
  const launched = launchOf({
    allowLocalBinding: false,
    domains: { localhost: "allow" },
    credentialMasking: true,
    credentialProviders: {
      vault: {
        env: ["A_KEY"],
        patterns: ["k-[a-z]{20}"],
        url_prefixes: [url],
        auth: ["bearer", "basic"],
      },
    },
  });
  await peer.request("process/start", {
    ...start(processId, ["/bin/sh", "-c", command], launched),
    envPolicy: { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
    enforceManagedNetwork: true,
    sandbox: restrictedTo(entries, "enabled"),
  });
  const { stdout, stderr } = await collect(peer, processId);
  return stdout.toString() + stderr.toString();
}

const NODE = `
const { request } = require("node:http"), { get } = require("node:https"), { connect } = require("node:tls");
const { hostname: host, port } = new URL(process.env.HTTPS_PROXY), to = new URL(process.argv[1]);
request({ host, port, method: "CONNECT", path: to.host }).on("connect", (_, socket) =>
  get(to, { createConnection: () => connect({ socket, servername: to.hostname }),
    headers: { authorization: "Bearer " + process.env.A_KEY } }, (answer) => answer.pipe(process.stdout))).end();
`;

describe("a sandboxed process that has a stand-in", () => {
  it.each([
    ["curl", () => `curl -sS ${url} -H "Authorization: Bearer $A_KEY"`],
    ["curl with a user", () => `curl -sS ${url} -u "$A_KEY:"`],
    ["curl through SOCKS", () => `curl -sS ${url} -x "$ALL_PROXY" -H "Authorization: Bearer $A_KEY"`],
    ["Node", () => `${process.execPath} -e '${NODE}' ${url}`],
  ])("uses the secret with %s", async (_name, command) => {
    const before = sent.length;
    const output = await run(command());
    const [authorization] = sent.slice(before);
    expect([`Bearer ${SECRET}`, `Basic ${Buffer.from(`${SECRET}:`).toString("base64")}`]).toContain(
      authorization,
    );
    expect(output).toMatch(/^got (?:Bearer|Basic) \S+\n$/);
    expect(output).not.toContain(authorization);
  });

  it("trusts the proxy even if it sees only the directories of programs", async () => {
    const minimal = { path: { type: "special", value: { kind: "minimal" } }, access: "read" };
    const output = await run(`curl -sS ${url} -H "Authorization: Bearer $A_KEY"`, [minimal]);
    expect(output).toMatch(/^got Bearer k-[a-z]{20}\n$/);
  });

  it("finds the secret nowhere", async () => {
    const output = await run(
      [
        "env",
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
        "grep -rasl -e k-abcdefgh /proc/[0-9]*/maps /proc/self/mem /dev/shm /tmp 2>/dev/null",
        "ls -la /dev/.exec-server-trust.pem",
        "rm -f $SSL_CERT_FILE; echo x > $SSL_CERT_FILE",
        "grep -c PRIVATE $SSL_CERT_FILE",
      ].join("; "),
      [readAll, entry("/tmp", "write")],
    );
    expect(output).toMatch(STAND_IN);
    expect(output).not.toContain(SECRET);
    expect(output).toMatch(/-r--r--r-- .* \/dev\/\.exec-server-trust\.pem/);
    expect(output).toMatch(/(?:Permission denied|Read-only file system)/);
    expect(output).toMatch(/\n0\n/);
  });

  it("cannot use that of another process", async () => {
    const [other = ""] = STAND_IN.exec(await run("echo $A_KEY")) ?? [];
    const before = sent.length;
    const output = await run(`curl -sS ${url} -H "Authorization: Bearer ${other}"`);
    expect(sent.slice(before)).toEqual([`Bearer ${other}`]);
    expect(output).toBe(`got Bearer ${other}\n`);
  });

  it("reaches nothing but the proxy", async () => {
    const output = await run(`curl -sS --noproxy '*' ${url} -H "Authorization: Bearer $A_KEY"; true`);
    expect(output).toMatch(/Failed to connect|Couldn't connect/);
  });

  it("leaves no secret in the audit log, on the wire or in what the server prints", () => {
    const audit = readFileSync(join(directory, "audit.log"), "utf8");
    expect(audit).toContain('"event":"start"');
    for (const text of [audit, peer.rawMessages.join("\n"), server.stdout, server.stderr])
      expect(text).not.toContain(SECRET);
  });
});

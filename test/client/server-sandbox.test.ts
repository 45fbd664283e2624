import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UsageError } from "../../src/base/errors.ts";
import { uriFromPath } from "../../src/base/file-uri.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { SandboxContext } from "../../src/protocol/sandbox.ts";
import { createServer, type ServerOptions } from "../../src/server/index.ts";
import { launch, SERVER_PATH } from "../conformance/server-process.ts";
import { fixture } from "../conformance/process-events.ts";
import { withEcho } from "../conformance/proxied-process.ts";
import { withDeadline } from "../fault/deadline.ts";
import { openMemoryPeer } from "../conformance/raw-peer.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { connect } from "./served.ts";

// A sandbox of the server's own, which its clients can narrow, and nothing else.

const DEADLINE_MS = 20_000;
const DISABLED: SandboxContext = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
const EXTERNAL: SandboxContext = { ...DISABLED, permissions: { type: "external", network: "enabled" } };
const UNRESTRICTED: SandboxContext = {
  ...DISABLED,
  permissions: { type: "managed", file_system: { type: "unrestricted" }, network: "enabled" },
};

let base: string;
let work: string;
let secret: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  // Not under /tmp, which a preset opens.
  base = mkdtempSync("/var/tmp/exec-server-operator-");
  work = join(base, "work");
  secret = join(work, "secret");
  mkdirSync(join(secret, ".codex"), { recursive: true });
  mkdirSync(join(secret, "skills/one"), { recursive: true });
  writeFileSync(join(secret, "key"), "the key");
  writeFileSync(join(secret, ".codex/config.toml"), 'model = "hidden"\n');
  writeFileSync(join(secret, "skills/one/SKILL.md"), "---\nname: one\ndescription: hidden\n---\n");
  writeFileSync(join(base, "outside"), "from outside");
});

afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  rmSync(base, { recursive: true, force: true });
});

async function serve(
  options: ServerOptions,
): Promise<{ host: Host; server: ReturnType<typeof createServer> }> {
  const server = createServer({ environment: { PATH: SERVER_PATH }, ...options });
  cleanups.push(() => server.close());
  const host = await connect(server);
  cleanups.push(() => host.close());
  return { host, server };
}

const sh = (host: Host, script: string, options: Parameters<Host["run"]>[1] = {}) =>
  host.run(["/bin/sh", "-c", script], { cwd: "/", ...options });

describe("a server with a sandbox", () => {
  let host: Host;
  let server: ReturnType<typeof createServer>;

  beforeAll(async () => {
    ({ host, server } = await serve({ sandbox: { write: [work], deny: [secret] } }));
  });

  const writesOutside = () => `echo x > ${base}/made || echo refused`;
  const readsSecret = () => `cat ${secret}/key || echo refused`;

  test("confines a process that asks for none", async () => {
    const process = await host.start(["/bin/sh", "-c", `echo in > ${work}/made && cat ${work}/made`], {
      cwd: "/",
    });
    expect(process.sandboxType).toBe("linuxSeccomp");
    expect(await process.communicate()).toMatchObject({ stdout: "in\n", exitCode: 0 });
    expect(await sh(host, writesOutside())).toMatchObject({ stdout: "refused\n" });
    expect(await sh(host, readsSecret())).toMatchObject({ stdout: "refused\n" });
    expect(await sh(host, `cat ${base}/outside`)).toMatchObject({ stdout: "from outside" });
  });

  test.each([
    ["disabled", DISABLED],
    ["external", EXTERNAL],
    ["unrestricted", UNRESTRICTED],
  ])("is not widened by a client that asks for %s", async (_, sandbox) => {
    expect(await sh(host, writesOutside(), { sandbox })).toMatchObject({ stdout: "refused\n" });
    expect(await sh(host, readsSecret(), { sandbox })).toMatchObject({ stdout: "refused\n" });
    expect(await sh(host, "cat /proc/net/dev | grep -cv 'lo:\\||'", { sandbox })).toMatchObject({
      stdout: "0\n",
    });
    expect(existsSync(join(base, "made"))).toBe(false);
  });

  test("is not widened by paths that a client asks for", async () => {
    const sandbox = { write: [base, secret], network: true };
    expect(await sh(host, writesOutside(), { sandbox })).toMatchObject({ stdout: "refused\n" });
    expect(await sh(host, readsSecret(), { sandbox })).toMatchObject({ stdout: "refused\n" });
    expect(await sh(host, `echo x > ${work}/made`, { sandbox })).toMatchObject({ exitCode: 0 });
  });

  test("is narrowed by a client's own", async () => {
    const result = await sh(host, `echo x > ${work}/narrowed`, { sandbox: "read-only" });
    expect(result).toMatchObject({ exitCode: 2, sandboxDenied: true });
    expect(existsSync(join(work, "narrowed"))).toBe(false);
  });

  test("confines processes of the oldest dialect", async () => {
    const [ours, theirs] = createMemoryPair();
    server.accept(theirs);
    const peer = openMemoryPeer(ours);
    await peer.handshake();
    const started = await peer.request("command/exec", {
      argv: ["/bin/sh", "-c", `${writesOutside()}; ${readsSecret()}`],
      cwd: "/",
      env: { PATH: SERVER_PATH },
      tty: false,
    });
    expect(started).toEqual({ sessionId: "session-1" });
    await peer.next((message) => message.method === "command/exec/exited");
    peer.drop();
    expect(existsSync(join(base, "made"))).toBe(false);
  });

  test("confines calls on files, whatever sandbox they bring", async () => {
    const all = [host.files, host.files.within(DISABLED), host.files.within(UNRESTRICTED)];
    for (const files of all) {
      await files.write(join(work, "file"), "text");
      expect(await files.readText(join(work, "file"))).toBe("text");
      expect(await files.readText(join(base, "outside"))).toBe("from outside");
      const refused = { errno: "EROFS" };
      await expect(files.write(join(base, "made"), "text")).rejects.toMatchObject(refused);
      await expect(files.writeStream(join(base, "made"), [new Uint8Array(1)])).rejects.toMatchObject(refused);
      await expect(files.mkdir(join(base, "made"))).rejects.toMatchObject(refused);
      await expect(files.remove(join(base, "outside"))).rejects.toMatchObject(refused);
      await expect(files.chmod(join(base, "outside"), 0o600)).rejects.toMatchObject(refused);
      await expect(files.symlink("x", join(base, "made"))).rejects.toMatchObject(refused);
      const hidden = { errno: "EACCES" };
      await expect(files.readText(join(secret, "key"))).rejects.toMatchObject(hidden);
      await expect(files.list(secret)).rejects.toMatchObject(hidden);
      await expect(files.copy(join(secret, "key"), join(work, "copy"))).rejects.toMatchObject(hidden);
      await expect(files.realpath(join(secret, "key"))).rejects.toMatchObject(hidden);
      await expect(async () => {
        for await (const _ of files.readStream(join(secret, "key")));
      }).rejects.toMatchObject(hidden);
      const { entries } = await files.walk(work);
      expect(entries.filter(({ path }) => path.startsWith(`${secret}/`))).toEqual([]);
      await expect(files.rename(join(work, "file"), join(base, "made"))).rejects.toThrow();
    }
    expect(existsSync(join(base, "made"))).toBe(false);
    expect(existsSync(join(work, "copy"))).toBe(false);
  });

  test("shows no changes of what it hides", async () => {
    const controller = new AbortController();
    const changes = await host.files.watch(work, { recursive: true, signal: controller.signal });
    writeFileSync(join(secret, "new"), "hidden");
    writeFileSync(join(work, "seen"), "visible");
    const paths: string[] = [];
    for await (const change of changes) {
      paths.push(...change.paths);
      if (paths.some((path) => path.endsWith("/seen"))) break;
    }
    expect(paths.filter((path) => path.startsWith(`${secret}/`))).toEqual([]);
    await expect(host.files.watch(secret)).rejects.toThrow();
    const { watching } = await host.request("fs/watchMissing", {
      watchId: 1,
      missing: [uriFromPath(join(secret, "missing"))],
    });
    // Inside, nothing can appear there.
    expect(watching).toBe(false);
  });

  test("searches for capabilities inside", async () => {
    const { roots } = await host.request("capabilityRoots/discoverV1", {
      roots: [{ id: "a", path: uriFromPath(join(secret, "skills")) }],
    });
    expect(JSON.stringify(roots)).not.toContain("description: hidden");
    const config = await host.request("environmentConfig/read", {
      cwd: uriFromPath(secret),
      configPaths: [["model"]],
      requirementsPaths: [],
    });
    expect(JSON.stringify(config)).not.toContain("hidden");
  });

  test("leaves no way out through a proxy", async () => {
    const connects = `
      const { hostname, port } = new URL(process.env.HTTP_PROXY);
      const socket = require("node:net").connect(port, hostname, () => console.log("connected"));
      socket.on("error", ({ code }) => console.log(code)).resume();`;
    const network = { allow: ["*"], local: true };
    for (const sandbox of [undefined, DISABLED, UNRESTRICTED]) {
      const options = { cwd: "/", network, ...(sandbox === undefined ? {} : { sandbox }) };
      expect(await host.run([process.execPath, "-e", connects], options)).toMatchObject({
        stdout: "EPERM\n",
      });
    }
  });

  test("makes no HTTP requests for its clients", async () => {
    const refused = host.fetch("http://127.0.0.1:9/");
    await expect(refused).rejects.toThrow(/this server's sandbox allows no network/);
  });
});

describe("a server with a sandbox that has a network", () => {
  test("makes HTTP requests, and lets processes connect", async () => {
    const upstream = http.createServer((_, response) => response.end("hello"));
    upstream.listen(0, "127.0.0.1");
    cleanups.push(async () => upstream.close());
    await new Promise((resolve) => upstream.once("listening", resolve));
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
    const { host } = await serve({ sandbox: { network: true } });
    expect(await (await host.fetch(url)).text()).toBe("hello");
    const fetches = `fetch("${url}").then((response) => response.text()).then(console.log)`;
    const run = (sandbox?: "read-only") =>
      host.run([process.execPath, "-e", fetches], {
        cwd: "/",
        ...(sandbox === undefined ? {} : { sandbox }),
      });
    expect(await run()).toMatchObject({ stdout: "hello\n", exitCode: 0 });
    expect(await run("read-only")).toMatchObject({ stdout: "", exitCode: 1 });
  });

  test("holds a process to its proxy, with a sandbox of its own and without", async () => {
    const { host } = await serve({ sandbox: { network: true } });
    await withEcho(async (port) => {
      const argv = [process.execPath, fixture("reach-network.mjs"), String(port)] as const;
      for (const sandbox of [undefined, DISABLED, UNRESTRICTED]) {
        const network = { allow: ["127.0.0.1"], local: true };
        const { stdout } = await host.run(argv, { cwd: "/", network, ...(sandbox && { sandbox }) });
        expect(JSON.parse(stdout)).toMatchObject({ proxied: "HTTP/1.1 200 OK", direct: "ECONNREFUSED" });
      }
    });
  });
});

describe("a server that requires a sandbox", () => {
  let host: Host;

  beforeAll(async () => {
    ({ host } = await serve({ requireSandbox: true }));
  });

  const refusal = { code: "PERMISSION_DENIED", rpcCode: -32600 };

  test("refuses what brings none, or one that asks for nothing", async () => {
    for (const sandbox of [undefined, DISABLED, EXTERNAL]) {
      const options = sandbox === undefined ? {} : { sandbox };
      await expect(sh(host, "true", options)).rejects.toMatchObject(refusal);
      await expect(sh(host, "true", options)).rejects.toThrow(/this server requires a sandbox/);
      const files = sandbox === undefined ? host.files : host.files.within(sandbox);
      await expect(files.readText(join(base, "outside"))).rejects.toMatchObject(refusal);
      await expect(files.write(join(work, "file"), "")).rejects.toMatchObject(refusal);
    }
    const command = { argv: ["/bin/true"], cwd: "/", env: {}, tty: false };
    await expect(host.request("command/exec", command)).rejects.toMatchObject(refusal);
  });

  test("serves what brings one", async () => {
    expect(await sh(host, "echo fine", { sandbox: "read-only" })).toMatchObject({ stdout: "fine\n" });
    const files = host.files.within({ write: [work] });
    await files.write(join(work, "file"), "text");
    expect(await files.readText(join(base, "outside"))).toBe("from outside");
  });
});

describe("the command line", () => {
  async function start(args: readonly string[], options: Parameters<typeof launch>[2] = {}) {
    const server = await launch("ours", args, options);
    cleanups.push(() => server.stop());
    return server;
  }

  async function failsWith(args: readonly string[], options: Parameters<typeof launch>[2] = {}) {
    const server = await start(args, options);
    const { code } = await withDeadline(server.exited, DEADLINE_MS, () => `an end: ${server.stdout}`);
    expect(server.stdout).toBe("");
    return { code, stderr: server.stderr };
  }

  test("takes a preset, relative to the server's directory, and not to that of a process", async () => {
    const server = await start(["--sandbox", "workspace-write", "--no-console"], { cwd: work });
    const host = await connect(await server.banner());
    cleanups.push(() => host.close());
    expect(await sh(host, `echo x > ${work}/preset`)).toMatchObject({ exitCode: 0 });
    const outside = await sh(host, "echo x > made", { cwd: base, sandbox: "workspace-write" });
    expect(outside).toMatchObject({ exitCode: 2, sandboxDenied: true });
    expect(server.stderr).toBe("");
  });

  test("takes a sandbox from the configuration file, which no sandbox shows", async () => {
    const config = join(base, "server.toml");
    writeFileSync(config, `require_sandbox = true\n[sandbox]\nwrite = ["${work}"]\ndeny = ["${secret}"]\n`);
    const server = await start(["--config", config]);
    const host = await connect(await server.banner());
    cleanups.push(() => host.close());
    await expect(sh(host, "true")).rejects.toThrow(/this server requires a sandbox/);
    const sandbox = { write: [base] };
    expect(await sh(host, `echo x > ${work}/made && cat ${secret}/key`, { sandbox })).toMatchObject({
      exitCode: 1,
    });
    expect(await sh(host, `cat ${config}`, { sandbox })).toMatchObject({ stdout: "", exitCode: 1 });
  });

  test("warns of a writable directory that does not exist", async () => {
    const config = join(base, "missing.toml");
    writeFileSync(config, `[sandbox]\nwrite = ["${base}/missing"]\n`);
    const server = await start(["--config", config]);
    await server.banner();
    await withDeadline(
      new Promise<void>((resolve) => {
        const look = () => server.stderr.includes(`${base}/missing`) && resolve();
        server.child.stderr?.on("data", look);
        look();
      }),
      DEADLINE_MS,
      () => `a warning: ${server.stderr}`,
    );
    expect(server.stderr).toContain("a directory that the sandbox makes writable does not exist");
  });

  test("refuses an unknown preset", async () => {
    expect(await failsWith(["--sandbox", "none"])).toEqual({
      code: 2,
      stderr:
        "error: invalid value 'none' for '--sandbox <NAME>': expected read-only, workspace-write\n\n" +
        "For more information, try '--help'.\n",
    });
  });

  test.each([["--sandbox", "read-only"], ["--require-sandbox"]])(
    "does not serve with %s where there is no bubblewrap",
    async (...args) => {
      const { code, stderr } = await failsWith(args, { env: { PATH: base } });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^Error: the sandbox is unavailable: bwrap was not found .*install the package bubblewrap/,
      );
    },
  );
});

test("a sandbox that makes no sense is refused before a server exists", () => {
  expect(() => createServer({ sandbox: { write: ["~/x"] } })).toThrow(UsageError);
  const foreign: SandboxContext = { ...UNRESTRICTED, cwd: "file:///C:/x" };
  expect(() => createServer({ sandbox: foreign })).toThrow(/^the sandbox of the server is invalid: /);
});

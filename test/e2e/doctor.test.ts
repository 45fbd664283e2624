import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launch } from "../conformance/server-process.ts";
import { createAuthority } from "../fixtures/certificates.ts";
import { startNats } from "../fixtures/nats-server.ts";
import { type RunOptions, runProgram } from "./run-program.ts";

// `exec-server doctor` on this machine, and on machines that are broken in one way each.

interface Report {
  readonly ok: boolean;
  readonly machine: { readonly platform: string; readonly isRoot: boolean };
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
    readonly remedies: readonly string[];
    readonly said?: string;
  }[];
}

let directory: string;

beforeAll(() => {
  directory = mkdtempSync("/var/tmp/exec-server-doctor-");
  chmodSync(directory, 0o755);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A directory for PATH with nothing but this `bwrap`. */
function pathWith(name: string, script: string | undefined): string {
  const path = join(directory, name);
  mkdirSync(path);
  if (script !== undefined) writeFileSync(join(path, "bwrap"), script, { mode: 0o755 });
  return path;
}

async function report(
  options: RunOptions = {},
  args: readonly string[] = [],
): Promise<Report & { status: number | null }> {
  const { status, stdout, stderr } = await runProgram(["doctor", "--json", ...args], options);
  expect(stderr).toBe("");
  return { status, ...(JSON.parse(stdout) as Report) };
}

const failures = ({ checks }: Report) => checks.filter(({ ok }) => !ok);

describe.concurrent("doctor", () => {
  test("finds that everything works here", async () => {
    const { status, ok, checks } = await report();
    expect(checks.map(({ name, ok: passed }) => [name, passed])).toEqual(
      [
        "server",
        "bubblewrap",
        "start",
        "write",
        "read",
        "privileges",
        "filter",
        "processes",
        "interfaces",
        "network",
        "terminal",
        "descriptors",
      ].map((name) => [name, true]),
    );
    expect({ status, ok }).toEqual({ status: 0, ok: true });
  });

  test("prints the same for a person", async () => {
    const { status, stdout } = await runProgram(["doctor"]);
    expect(stdout).toMatch(/^exec-server \d+\.\d+\.\d+ on linux /);
    expect(stdout).toMatch(/^ok +bubblewrap +\/\S+\/bwrap has version \d/m);
    expect(stdout).toMatch(/\n\nThe sandbox works here\.\n$/);
    expect(status).toBe(0);
  });

  test.runIf(process.getuid?.() === 0)("works for an ordinary user", async () => {
    const through = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    const { status, machine, checks } = await report({ through });
    expect(failures({ ok: true, machine, checks })).toEqual([]);
    expect({ status, isRoot: machine.isRoot }).toEqual({ status: 0, isRoot: false });
  });

  test("names the package if bubblewrap is missing", async () => {
    const path = pathWith("empty", undefined);
    const { status, ok, ...rest } = await report({ path });
    expect({ status, ok }).toEqual({ status: 1, ok: false });
    expect(failures({ ok, ...rest })).toEqual([
      {
        name: "bubblewrap",
        ok: false,
        detail: "bubblewrap is not installed",
        remedies: [expect.stringContaining("bubblewrap")],
        said: expect.stringContaining("not found on the server's PATH"),
      },
    ]);
    const { stdout } = await runProgram(["doctor"], { path });
    expect(stdout).toMatch(/^FAILED +bubblewrap +bubblewrap is not installed\n +\| .*\n +> .*bubblewrap/m);
    expect(stdout).toContain("The sandbox does not work here: the server refuses every request");
  });

  test("does not take a directory for bubblewrap", async () => {
    const path = pathWith("directory", undefined);
    mkdirSync(join(path, "bwrap"));
    expect(failures(await report({ path }))).toMatchObject([{ detail: "bubblewrap is not installed" }]);
  });

  test("finds that bubblewrap is too old", async () => {
    const path = pathWith("old", "#!/bin/sh\necho bubblewrap 0.4.0\n");
    expect(failures(await report({ path }))).toMatchObject([
      { name: "bubblewrap", detail: "bubblewrap is too old", said: expect.stringContaining("version 0.4.0") },
    ]);
  });

  test("finds that bubblewrap does not run", async () => {
    const path = pathWith("broken", "#!/missing\n");
    expect(failures(await report({ path }))).toMatchObject([
      { name: "bubblewrap", detail: "the bwrap that comes first on PATH does not work" },
    ]);
  });

  test("proves the same with a temporary directory below what it usually hides", async () => {
    expect(failures(await report({ through: ["/usr/bin/env", "TMPDIR=/var/tmp"] }))).toEqual([]);
  });

  test("names the setting of the kernel that closes user namespaces", async () => {
    // Closed inside a namespace of our own, so that the rest of the machine keeps them.
    const close = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
    const through = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c", close, "sh"];
    expect(failures(await report({ through }))).toMatchObject([
      {
        name: "start",
        detail: "user namespaces are switched off (user.max_user_namespaces = 0)",
        remedies: [expect.stringMatching(/^sysctl -w user\.max_user_namespaces=[1-9]/), expect.anything()],
        said: expect.stringContaining("Creating new namespace failed"),
      },
    ]);
  });

  test("notices a bubblewrap that confines nothing", async () => {
    // Everything is mounted, neither namespaces nor the filter are asked for, and the stage, which would notice the
    // mounts, is left out with its seven arguments.
    const path = pathWith(
      "open",
      '#!/bin/sh\ncase $1 in --version|--help) exec /usr/bin/bwrap "$1" ;; esac\nwhile [ "$1" != -- ]; do shift; done\n' +
        'shift 9; exec /usr/bin/bwrap --bind / / --dev /dev "$@"\n',
    );
    const { status, ...rest } = await report({ path });
    expect(status).toBe(1);
    const found = failures(rest).map(({ name, detail }) => `${name}: ${detail}`);
    expect(found).toContain("write: a program inside could write outside");
    expect(found).toContain("read: a program inside could read what is hidden, and list what is hidden");
    expect(found).toContain("filter: a program inside could make any system call");
    expect(found).toContain("processes: a program inside could see the server");
  });

  test("checks the setup of a server by the flags that it is started with", async () => {
    using authority = createAuthority();
    await using nats = await startNats();
    const { cert, key } = authority.issue("server", { days: 30 });
    chmodSync(key, 0o600);
    const table = join(authority.directory, "tokens.toml");
    writeFileSync(table, "", { mode: 0o644 });
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const tls = ["--tls-cert", cert, "--tls-key", key];
    const login = ["--ws-auth", "token-table", "--ws-token-table", table, "--fleet", nats.url];
    const taken = await report({}, ["--listen", `wss://127.0.0.1:${port}`, ...tls, ...login]);
    server.close();
    await once(server, "close");
    expect(failures(taken)).toEqual([
      {
        name: "address",
        ok: false,
        detail: expect.stringMatching(
          new RegExp(`^wss://127.0.0.1:${port} is taken by .+ \\(process ${process.pid}\\)$`),
        ),
        remedies: [expect.stringContaining("another port")],
      },
    ]);
    expect(taken.status).toBe(1);
    chmodSync(key, 0o644);
    const open = await report({}, ["--listen", `wss://127.0.0.1:${port}`, ...tls, ...login]);
    expect(failures(open)).toMatchObject([{ name: "file", remedies: [`chmod 600 ${key}`] }]);
    const passed = open.checks.filter(({ ok }) => ok).map(({ name, detail }) => `${name}: ${detail}`);
    expect(passed.slice(passed.findIndex((line) => line.startsWith("descriptors:")))).toEqual([
      expect.stringMatching(/^descriptors: up to \d+ /),
      `address: wss://127.0.0.1:${port} is free`,
      expect.stringMatching(/^certificate: valid until .*, for 127.0.0.1, localhost$/),
      `file: the token table ${table} is safe from others (mode 644)`,
      expect.stringMatching(/^file: the TLS certificate /),
      `nats: ${nats.url} accepts this machine`,
    ]);
  });

  test("compares the clock with that of a server, and recognizes a server on its address", async () => {
    const server = await launch("ours", ["--listen", "ws://127.0.0.1:0"]);
    const url = await server.banner();
    const { checks } = await report({}, ["--listen", url, "--url", url]);
    await server.stop();
    expect(checks.find(({ name }) => name === "address")).toMatchObject({
      ok: true,
      detail: `an exec-server listens on ${url} already, as process ${server.child.pid}`,
    });
    expect(checks.at(-1)).toEqual({
      name: "clock",
      ok: true,
      detail: `it agrees with that of ${new URL(url).host}`,
      remedies: [],
    });
    expect(await runProgram(["doctor", "--url", "build"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("invalid value 'build' for '--url <URL>'"),
    });
  });

  test("refuses what it does not know", async () => {
    expect(await runProgram(["doctor", "--jsno"])).toEqual({
      status: 2,
      stdout: "",
      stderr: "error: unexpected argument '--jsno' found\n\nFor more information, try '--help'.\n",
    });
  });

  test("explains itself", async () => {
    const { status, stdout } = await runProgram(["doctor", "--help"]);
    expect(stdout).toMatch(
      /^Check whether a server works on this machine.*\n\nUsage: exec-server doctor \[--json\] /,
    );
    expect(status).toBe(0);
  });
});

import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { type Authority, createAuthority } from "../fixtures/certificates.ts";

// What must stay hidden does so for the whole life of a sandbox: before, while and after another program replaces it.

const DEADLINE_MS = 60_000;

let base: string;
const at = (...names: string[]): string => join(base, ...names);
const cleanups: (() => unknown)[] = [];

beforeEach(() => {
  // Not below the directory for temporary files, which the policy of a client can make writable.
  base = mkdtempSync("/var/tmp/exec-server-hidden-");
  for (const name of ["conf", "records", "live", "archive", "work"]) mkdirSync(at(name));
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  rmSync(base, { recursive: true, force: true });
});

/** Runs the program as an operator would. */
const operate = (...args: string[]): string =>
  execFileSync(process.execPath, ["dist/cli.js", ...args], { encoding: "utf8", stdio: "pipe" }).trim();

/** Puts another file into the place of one, as editors do. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

async function start(args: readonly string[], options: { cwd?: string } = {}): Promise<ServerProcess> {
  const server = await launch("ours", args, options);
  cleanups.push(() => server.stop());
  return server;
}

async function open(url: string, options: Parameters<typeof connect>[1]): Promise<Host> {
  const host = await connect(url, options);
  cleanups.push(() => host.close());
  return host;
}

/** A program inside that tries, all the time, to read, write and replace what it should not see. */
async function watch(host: Host, places: readonly string[]): Promise<{ found: () => Promise<string> }> {
  const script = `
    echo begun
    until [ -e ${at("work", "over")} ]; do
      for name in ${places.flatMap((place) => [place, `${place}/*`]).join(" ")}; do
        [ -f "$name" ] && head -c 20 "$name" 2>/dev/null && echo " read $name"
        [ -f "$name" ] && ( : >> "$name" ) 2>/dev/null && echo "wrote $name"
      done
    done
    ls ${places.join(" ")} 2>/dev/null
    echo done`;
  const managed = await host.start(["/bin/sh", "-c", script], { cwd: at("work") });
  let text = "";
  const ended = (async () => {
    for await (const { bytes } of managed.output()) text += Buffer.from(bytes).toString();
    return text;
  })();
  await pollUntil(
    () => text.includes("begun"),
    DEADLINE_MS,
    () => "the start of the program",
  );
  return {
    found: async () => {
      writeFileSync(at("work", "over"), "");
      await withDeadline(ended, DEADLINE_MS, () => `the end of the program: ${text}`);
      rmSync(at("work", "over"));
      return text;
    },
  };
}

const readable = async (host: Host, path: string): Promise<boolean> =>
  host.request("fs/readFile", { path: `file://${path}`, sandbox: null }).then(
    () => true,
    () => false,
  );

function certify(authority: Authority, number: number): void {
  const { cert, key } = authority.issue(`server-${number}`);
  copyFileSync(cert, at("archive", `cert${number}.pem`));
  copyFileSync(key, at("archive", `key${number}.pem`));
  for (const name of ["cert", "key"]) {
    symlinkSync(`../archive/${name}${number}.pem`, at("live", `${name}.new`));
    renameSync(at("live", `${name}.new`), at("live", `${name}.pem`));
  }
}

it("a running program never sees what takes the place of a file of the server", async () => {
  const authority = createAuthority();
  cleanups.push(() => authority[Symbol.dispose]());
  certify(authority, 1);
  const table = at("conf", "tokens.toml");
  const config = at("conf", "server.toml");
  const audit = at("records", "audit.jsonl");
  const log = at("records", "server.log");
  writeFileSync(config, "metrics = true\n");
  const rights = ["--preset", "sandboxed", "--write", at("work")];
  const token = operate("token", "new", "ann", "--table", table, ...rights);
  const server = await start(
    [
      ["--listen", "wss://127.0.0.1:0"],
      ["--tls-cert", at("live", "cert.pem"), "--tls-key", at("live", "key.pem")],
      ["--ws-auth", "token-table", "--ws-token-table", table, "--config", config],
      ["--audit", audit, "--audit-max-bytes", "4096", "--log-file", log, "--log-level", "debug"],
    ].flat(),
  );
  const host = await open(await server.banner(), { token, ca: authority.ca });
  const places = ["conf", "records", "live", "archive"].map((name) => at(name));
  const program = await watch(host, places);
  // Its handle keeps the helper of the file calls from being renewed.
  await host.files.write(at("work", "kept"), "kept");
  const kept = `file://${at("work", "kept")}`;
  await host.request("fs/open", { handleId: "h", path: kept, sandbox: null });
  const paths = [table, config, audit, `${audit}.1`, log, at("live", "key.pem"), at("archive", "key2.pem")];

  operate("token", "new", "bob", "--preset", "full", "--table", table);
  operate("token", "new", "ann", "--rotate", "--table", table);
  replace(config, "metrics = false\n");
  certify(authority, 2);
  renameSync(log, `${log}.old`);
  replace(log, "new lines\n");
  // The client itself fills the audit log.
  for (let count = 0; count < 100 && !existsSync(`${audit}.2`); count += 1)
    for (const path of paths) await readable(host, path);

  for (const path of paths) {
    expect(statSync(path).isFile()).toBe(true);
    expect([path, await readable(host, path)]).toEqual([path, false]);
  }
  expect(await host.request("fs/readBlock", { handleId: "h", offset: 0, len: 4 })).toMatchObject({
    eof: false,
  });
  expect((await program.found()).trim().split("\n")).toEqual(["begun", "done"]);
  // It can still read what the policy gives.
  expect((await host.run(["cat", at("work", "kept"), "/etc/hostname"])).exitCode).toBe(0);
});

it("a policy of an operator under which a file of the server is writable, or cannot be hidden, is refused", async () => {
  const table = at("conf", "tokens.toml");
  const make = (...flags: string[]): string => {
    try {
      return operate("token", "new", "ann", "--preset", "sandboxed", "--table", table, ...flags);
    } catch (error) {
      return (error as { stderr: string }).stderr;
    }
  };
  expect(make("--write", at("conf"))).toContain(
    `policy makes ${at("conf")} writable, including the server's own file ${table}: move the file`,
  );
  expect(existsSync(table)).toBe(false);
  const config = at("conf", "server.toml");
  const refusal = async (args: readonly string[], cwd = base): Promise<string> => {
    const server = await start(args, { cwd });
    const { code } = await withDeadline(server.exited, DEADLINE_MS, () => "the end of the server");
    return `${code} ${server.stderr}`;
  };
  writeFileSync(config, `[sandbox]\nwrite = ["${base}"]\n`);
  expect(await refusal(["--config", config])).toContain(
    `1 Error: the sandbox of the server makes ${base} writable, including the server's own file ${config}: `,
  );
  writeFileSync(config, `[local]\npreset = "sandboxed"\npolicy = { write = ["${at("work")}"] }\n`);
  const local = ["--config", config, "--audit", at("work", "audit.jsonl")];
  expect(await refusal(local)).toContain(`policy makes ${at("work")} writable`);
  expect(await refusal(["--sandbox", "workspace-write", "--log-file", "server.log"], at("work"))).toContain(
    `makes ${at("work")} writable, including the server's own file ${at("work", "server.log")}`,
  );
  const home = await start(["--sandbox", "read-only", "--log-file", "server.log"]);
  await withDeadline(home.exited, DEADLINE_MS, () => "the end of the server");
  expect(home.stderr).toContain("move the file to its own directory, which sandboxes hide");
});

it("the policy of a client may make writable what surrounds a file of the server, which stays hidden and in its place", async () => {
  const log = at("records", "server.log");
  const server = await start([
    "--listen",
    "ws://127.0.0.1:0",
    "--log-file",
    log,
    "--audit",
    at("records", "a"),
  ]);
  const host = await open(await server.banner(), {});
  const attempt = `
    ls ${at("records")} || echo hidden; mv ${at("records")} ${at("moved")} || echo stays
    mkdir -p ${at("records")}/x || echo full; rm -r ${at("records")} || echo there`;
  const { stdout } = await host.run(["/bin/sh", "-c", attempt], { cwd: base, sandbox: { write: [base] } });
  expect(stdout.split("\n")).toEqual(["hidden", "stays", "full", "there", ""]);
  expect(readdirSync(at("records")).toSorted()).toEqual(["a", "a.lock", "server.log"]);
});

it("a client can work in a directory of a server file, whose log is written all the same", async () => {
  const server = await start(
    ["--listen", "ws://127.0.0.1:0", "--log-file", "server.log", "--log-level", "debug"],
    { cwd: at("work") },
  );
  const url = await server.banner();
  const host = await open(url, {});
  const sandbox = { write: ["."] };
  const script =
    "echo made > made; cat server.log; mkdir -p server.log/x; echo x > server.log; rm server.log; ls";
  const { stdout } = await host.run(["/bin/sh", "-c", script], { cwd: at("work"), sandbox });
  expect(stdout.split("\n")).toEqual(["made", "server.log", ""]);
  // The first line is due while a sandbox runs.
  const program = await host.start(["sleep", "1000"], { cwd: at("work"), sandbox });
  await (await open(url, {})).close();
  await pollUntil(
    () => readFileSync(at("work", "server.log"), "utf8").includes("connection ended"),
    DEADLINE_MS,
    () => "a line of the log",
  );
  await program.terminate();
});

it("a file of the server in its home is reported with the first sandbox, and not before", async () => {
  const home = mkdtempSync("/var/tmp/exec-server-home-");
  cleanups.push(() => rmSync(home, { recursive: true }));
  const config = join(home, "server.toml");
  writeFileSync(config, "");
  const server = await launch("ours", ["--listen", "ws://127.0.0.1:0", "--config", config], {
    env: { HOME: home },
  });
  cleanups.push(() => server.stop());
  const host = await open(await server.banner(), {});
  await host.run(["true"]);
  expect(server.stderr).not.toContain("cannot hide");
  await host.run(["true"], { cwd: base, sandbox: "read-only" });
  await pollUntil(
    () => server.stderr.includes("cannot hide"),
    DEADLINE_MS,
    () => `a warning: ${server.stderr}`,
  );
  expect(server.stderr).toContain(JSON.stringify(config));
});

it("a log file that cannot be opened is an error, and a directory that was left in its place is none", async () => {
  mkdirSync(at("records", "log", "something"), { recursive: true });
  const refused = await start(["--log-file", at("records", "log")]);
  expect(await withDeadline(refused.exited, DEADLINE_MS, () => "the end")).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain(`cannot open the log file ${at("records", "log")}: `);
  rmSync(at("records", "log", "something"), { recursive: true });
  const server = await start([
    "--listen",
    "ws://127.0.0.1:0",
    "--log-file",
    at("records", "log"),
    "--log-level",
    "debug",
  ]);
  await open(await server.banner(), {});
  await pollUntil(
    () => statSync(at("records", "log")).size > 0,
    DEADLINE_MS,
    () => "a line of the log",
  );
});

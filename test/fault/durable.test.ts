import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { serve } from "../../src/server/index.ts";
import { readJournal } from "../../src/server/durable/journal.ts";
import { mountTmpfs } from "./mounted-tmpfs.ts";
import { builtCli } from "./server-under-test.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { DurableServer, runCli } from "./durable-server.ts";
import { processesMarked } from "./proc-fs.ts";

const DEADLINE_MS = 60_000;
const NOBODY = 65_534;
const PAGE_BYTES = 4_096;

interface AuditLine {
  readonly event: string;
  readonly process?: string;
  readonly record?: string;
  readonly connection?: number;
}

function auditLines(file: string): AuditLine[] {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditLine);
}

it("a keeper whose directory was removed ends when it has no server and nothing runs", async () => {
  await using server = await DurableServer.start();
  const host = await connect(server.url);
  const job = await host.start(["sleep", "300"], { keep: "job" });
  const keeper = await server.keeper();
  rmSync(server.directory, { recursive: true });
  await server.kill("SIGKILL");
  // Still there with its work, although nothing leads to it any more.
  expect((await server.command("durable", "status", server.directory)).err).toContain("does not exist");
  process.kill(job.pid!, 0);
  process.kill(keeper, 0);
  process.kill(job.pid!, "SIGKILL");
  await pollUntil(
    () => !existsSync(`/proc/${keeper}`),
    DEADLINE_MS,
    () => "the end of the keeper",
  );
});

it("SIGTERM leaves what runs, and `durable end` leaves nothing", async () => {
  await using server = await DurableServer.start();
  const mark = `durable-left-${process.pid}`;
  const host = await connect(server.url);
  await host.start(["bash", "-c", `exec -a ${mark} sleep 300`], { keep: "job" });
  await pollUntil(
    () => processesMarked(mark).length === 1,
    DEADLINE_MS,
    () => "the process",
  );
  const keeper = await server.keeper();
  const refused = await server.command("durable", "end", server.directory);
  expect(refused.err).toContain(`a server uses ${server.directory}: stop it first`);
  // The keeper learns a moment later that a session, and then its server, are gone.
  const shows = (text: string): Promise<unknown> =>
    pollUntil(
      async () => (await server.command("durable", "status", server.directory)).out.includes(text),
      DEADLINE_MS,
      () => text,
    );
  await host.close();
  await shows("server     is running\nsessions   0\nprocesses  1\n");
  await server.kill("SIGTERM");
  await shows("server     is not running\nsessions   0\nprocesses  1\n");
  const status = await server.command("durable", "status", server.directory);
  expect(status.code).toBe(0);
  expect(status.out).toMatch(new RegExp(`^keeper +process ${keeper}, version `));
  expect(processesMarked(mark)).toHaveLength(1);
  expect(await server.command("durable", "end", server.directory)).toEqual({ code: 0, out: "", err: "" });
  expect([processesMarked(mark), existsSync(server.directory)]).toEqual([[], false]);
  await pollUntil(
    () => !existsSync(`/proc/${keeper}`),
    DEADLINE_MS,
    () => "the end of the keeper",
  );
  const gone = await server.command("durable", "status", server.directory);
  expect(gone).toMatchObject({ code: 1, err: expect.stringContaining("it does not exist") });
});

it("a second server, and one with other settings, is refused and changes nothing", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const running = await host.start(["cat"], { stdin: "pipe" });
  const args = ["--listen", "ws://127.0.0.1:0", "--durable", server.directory];
  const second = await runCli(args);
  expect(second).toMatchObject({ code: 1, err: expect.stringContaining("it is in use by another server") });
  await server.kill("SIGKILL");
  const other = await runCli([...args, "--max-processes", "7"]);
  expect(other.code).toBe(1);
  expect(other.err).toMatch(
    /cannot use the keeper: it was started with other settings \(maxProcesses: \d+, now 7; /,
  );
  await server.start();
  await running.write("hello\n");
  await running.closeStdin();
  expect((await running.exited).exitCode).toBe(0);
});

it("a keeper serves one server, even if the lock of its directory was removed", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  rmSync(join(server.directory, "lock"));
  const second = await runCli(["--listen", "ws://127.0.0.1:0", "--durable", server.directory]);
  expect(second).toMatchObject({
    code: 1,
    err: expect.stringContaining("cannot use the keeper: it serves another server"),
  });
  expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
});

it.each([
  [["--stdio"], 2, "'--durable <DIR>' cannot be used with stdio"],
  [["--exit-when-idle", "10m"], 2, "'--durable <DIR>' cannot be used with '--exit-when-idle <DURATION>'"],
  ...(process.getuid?.() === 0
    ? [[["--run-as", "nobody"], 1, "a durable server does everything as its own user"] as const]
    : []),
] as const)("is refused with %s, and nothing is made", async (args, code, why) => {
  const directory = join("/var/tmp", `durable-refused-${process.pid}`);
  const refused = await runCli(["serve", ...args, "--durable", directory]);
  expect(refused).toMatchObject({ code, err: expect.stringContaining(why) });
  expect(existsSync(directory)).toBe(false);
});

it("a restart is a lost connection to clients, as a crash is", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const running = await host.start(["cat"], { stdin: "pipe" });
  await running.write("one\n");
  await server.kill("SIGTERM");
  await server.start();
  await running.write("two\n");
  await running.closeStdin();
  let text = "";
  for await (const { bytes } of running.output()) text += new TextDecoder().decode(bytes);
  expect([text, (await running.exited).exitCode]).toEqual(["one\ntwo\n", 0]);
});

it("a keeper that was stopped goes on with the next server", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const running = await host.start(["cat"], { stdin: "pipe" });
  const keeper = await server.keeper();
  process.kill(keeper, "SIGSTOP");
  await server.kill("SIGKILL");
  await server.start();
  await running.closeStdin();
  expect((await running.exited).exitCode).toBe(0);
  expect(await server.keeper()).toBe(keeper);
});

it("what ran in a keeper that was killed is lost, and has no status", async () => {
  await using server = await DurableServer.start();
  const mark = `durable-lost-${process.pid}`;
  const host = await connect(server.url);
  const lost = await host.start(["bash", "-c", `exec -a ${mark} sleep 300`], { processId: "build" });
  await pollUntil(
    () => processesMarked(mark).length === 1,
    DEADLINE_MS,
    () => "the process",
  );
  const exited = lost.exited.then(
    (report) => report,
    (error: unknown) => error,
  );
  const keeper = await server.keeper();
  process.kill(keeper, "SIGKILL");
  expect(await exited).toMatchObject({
    message: expect.stringMatching(/cannot use the keeper: it has ended, and what it ran is lost/),
  });
  await host.close();
  await pollUntil(
    () => processesMarked(mark).length === 0,
    DEADLINE_MS,
    () => "the end of what it ran",
  );
  await using again = await connect(server.url);
  expect((await again.run(["echo", "works"])).stdout).toBe("works\n");
  const { out } = await server.command("durable", "status", server.directory);
  expect(out).toMatch(/^lost +build, process \d+, since .*: bash -c/m);
  expect(await server.keeper()).not.toBe(keeper);
  await pollUntil(
    () => auditLines(server.audit).some(({ event, process: id }) => event === "lost" && id === "build"),
    DEADLINE_MS,
    () => "its line",
  );
  expect(auditLines(server.audit).filter(({ event }) => event === "ended")).toHaveLength(1);
});

it("what happens without a server is in the audit log of the next one, each line once", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const mark = `durable-short-${process.pid}`;
  const ending = await host.start(["bash", "-c", `exec -a ${mark} sleep 1`], { processId: "short" });
  await pollUntil(
    () => processesMarked(mark).length === 1,
    DEADLINE_MS,
    () => "its start",
  );
  for (let kill = 0; kill < 3; kill += 1) {
    await host.run(["true"]);
    await server.kill("SIGKILL");
    await pollUntil(
      () => processesMarked(mark).length === 0,
      DEADLINE_MS,
      () => "its end",
    );
    await server.start();
  }
  expect((await ending.exited).exitCode).toBe(0);
  const other = await connect(server.url);
  await other.close();
  await pollUntil(
    () => auditLines(server.audit).filter(({ event }) => event === "disconnect").length >= 4,
    DEADLINE_MS,
    () => "the lines",
  );
  await server.kill("SIGTERM");
  const lines = auditLines(server.audit);
  expect(lines.filter(({ event, process: id }) => event === "ended" && id === "short")).toHaveLength(1);
  const numbers = lines.flatMap(({ record }) => (record === undefined ? [] : Number(record.split(":")[1])));
  expect(numbers).toEqual(Array.from(numbers, (_, at) => at + 1));
  // Connections of different servers are told apart.
  const connections = lines.flatMap(({ event, connection }) => (event === "connect" ? [connection] : []));
  expect(new Set(connections).size).toBe(connections.length);
  expect((await server.command("audit", "verify", server.audit)).code).toBe(0);
});

it("clients read the audit log, and get links to the console, as from any server", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  await host.run(["true"], { processId: "short" });
  await pollUntil(
    async () => {
      const { file, lines, failing } = await host.request("server/audit", { maxLines: 10 });
      expect([file, failing]).toEqual([server.audit, false]);
      return lines.some((line) => (JSON.parse(line) as AuditLine).process === "short");
    },
    DEADLINE_MS,
    () => "the line",
  );
  const { token } = await host.request("console/link", null);
  const trade = async (): Promise<number> => {
    const url = new URL("/console/session", server.url.replace("ws:", "http:"));
    const headers = { "content-type": "application/json", origin: url.origin };
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify({ token }) })).status;
  };
  expect(await trade()).toBe(200);
  expect(await trade()).not.toBe(200);
});

it("a token that is withdrawn while no server runs leaves nothing, and gets nobody in", async () => {
  const tokens = join("/var/tmp", `durable-tokens-${process.pid}.toml`);
  const table = (names: readonly string[]): void => {
    const sha256 = (name: string): string =>
      createHash("sha256").update(`${name}-of-some-length`).digest("hex");
    writeFileSync(
      tokens,
      names
        .map((name) => `[[token]]\nname = "${name}"\npreset = "full"\nsha256 = "${sha256(name)}"\n`)
        .join(""),
    );
  };
  table(["ann", "bob"]);
  const args = ["--ws-auth", "token-table", "--ws-token-table", tokens, "--detached-session-ttl-ms", "2000"];
  await using server = await DurableServer.start(...args);
  const marks = ["ann", "bob"].map((name) => `durable-${name}-${process.pid}`);
  const hosts = await Promise.all(
    ["ann", "bob"].map(async (name, at) => {
      const host = await connect(server.url, { token: `${name}-of-some-length` });
      await host.start(
        ["bash", "-c", `exec -a ${marks[at]} sleep 300`],
        name === "bob" ? {} : { processId: "job" },
      );
      return host;
    }),
  );
  await pollUntil(
    () => marks.every((mark) => processesMarked(mark).length === 1),
    DEADLINE_MS,
    () => "the processes",
  );
  await server.kill("SIGKILL");
  table(["bob"]);
  await server.start();
  await hosts[0]!.closed;
  await expect(connect(server.url, { token: "ann-of-some-length" })).rejects.toMatchObject({
    code: "UNAUTHORIZED",
  });
  await pollUntil(
    () => processesMarked(marks[0]!).length === 0,
    DEADLINE_MS,
    () => "the end of its session",
  );
  // The other one came back in time.
  await hosts[1]!.request("server/status", null);
  expect(processesMarked(marks[1]!)).toHaveLength(1);
  await hosts[1]!.close();
  rmSync(tokens);
});

it.runIf(process.getuid?.() === 0)(
  "a full disk harms nothing that runs, and the next server logs it",
  async () => {
    using disk = mountTmpfs("64k");
    await using server = await DurableServer.startIn(join(disk.path, "d"));
    await using host = await connect(server.url);
    const mark = `durable-full-${process.pid}`;
    const staying = await host.start(["cat"], { stdin: "pipe", processId: "staying" });
    const journal = join(server.directory, "journal.jsonl");
    const start = (name: string, padding: number): Promise<RemoteProcess> =>
      host.start(["bash", "-c", `exec -a ${name} sleep 300`, "x".repeat(padding)]);
    const before = statSync(journal).size;
    await start(mark.replace("durable", "similar"), 0);
    const lineBytes = statSync(journal).size - before;
    // So that the line of its end needs another page of the disk.
    const room = PAGE_BYTES - 10 - ((before + lineBytes * 2) % PAGE_BYTES);
    const running = await start(mark, (room + PAGE_BYTES) % PAGE_BYTES);
    await pollUntil(
      () => processesMarked(mark).length === 1,
      DEADLINE_MS,
      () => "the process",
    );
    await server.kill("SIGKILL");
    const filler = join(server.directory, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(1024 * 1024))).toThrow("ENOSPC");
    process.kill(processesMarked(mark)[0]!, "SIGKILL");
    await pollUntil(
      () => processesMarked(mark).length === 0,
      DEADLINE_MS,
      () => "its end",
    );
    await server.start();
    expect(await running.exited).toMatchObject({ signal: "SIGKILL" });
    expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
    await pollUntil(
      () => server.said.includes("the journal cannot be written"),
      DEADLINE_MS,
      () => "the line of the log",
    );
    expect(server.said).toMatch(/the journal cannot be written.*"at":"\d{4}-/);
    rmSync(filler);
    // The next line brings the journal up to date.
    await host.run(["true"]);
    const { running: known } = readJournal(journal);
    expect(known.map((entry) => entry.process)).toContain("staying");
    await staying.closeStdin();
    expect((await staying.exited).exitCode).toBe(0);
  },
);

it("nothing in a sandbox sees its directory, and no process in one reaches its socket", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const script = `ls -A ${server.directory}; test -e ${join(server.directory, "keeper.sock")} && echo there; echo done`;
  const { stdout } = await host.run(["bash", "-c", script], { sandbox: "read-only", check: false });
  expect(stdout).toBe("done\n");
});

it("a process in a sandbox of another server gets no answer from the keeper", async () => {
  await using server = await DurableServer.start();
  await using other = await serve({ environment: process.env });
  await using host = await connect(other);
  const ask = (sandbox?: { write: string[]; network: boolean }): Promise<{ stdout: string }> =>
    host.run([process.execPath, builtCli, "durable", "status", server.directory], {
      check: false,
      ...(sandbox === undefined ? {} : { sandbox }),
    });
  expect((await ask({ write: ["/tmp"], network: true })).stdout).toBe("");
  expect((await ask()).stdout).toMatch(/^keeper +process /);
});

it.runIf(process.getuid?.() === 0)("another user gets neither in nor an answer", async () => {
  await using server = await DurableServer.start();
  const status = await runCli(["durable", "status", server.directory], NOBODY);
  expect(status.code).not.toBe(0);
  expect(status.err).toMatch(/EACCES|belongs to another user|permission denied/i);
});

it.runIf(process.getuid?.() === 0)("no program of its user reads the server's memory", async () => {
  const home = mkdtempSync("/var/tmp/durable-");
  chownSync(home, NOBODY, NOBODY);
  const directory = join(home, "d");
  const args = [builtCli, "--listen", "ws://127.0.0.1:0", "--durable", directory];
  const server = spawn(process.execPath, args, {
    cwd: home,
    uid: NOBODY,
    gid: NOBODY,
    env: { PATH: process.env["PATH"], HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  await withDeadline(once(server.stdout, "data"), DEADLINE_MS, () => "the banner");
  // The system gives root what nobody else may read.
  expect(statSync(`/proc/${server.pid}/environ`).uid).toBe(0);
  server.kill("SIGKILL");
  await ended;
  expect(await runCli(["durable", "end", directory], NOBODY)).toMatchObject({ code: 0, err: "" });
  rmSync(home, { recursive: true });
});

it("garbage on its socket, and connections that say nothing, harm nobody", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const socket = join(server.directory, "keeper.sock");
  const silent = Array.from({ length: 200 }, () => connectSocket({ path: socket }).on("error", () => {}));
  const loud = connectSocket({ path: socket }).on("error", () => {});
  loud.write(Buffer.alloc(100_000, 255));
  await new Promise((resolve) => loud.resume().once("close", resolve));
  expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
  for (const each of silent) each.destroy();
});

import { existsSync, readFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { pollUntil } from "./deadline.ts";
import { DurableServer, runCli } from "./durable-server.ts";
import { processesMarked } from "./proc-fs.ts";

const DEADLINE_MS = 60_000;
const NOBODY = 65_534;

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
  expect(other.err).toMatch(/cannot use the keeper: it was started with other settings \(.*limits/);
  await server.start();
  await running.write("hello\n");
  await running.closeStdin();
  expect((await running.exited).exitCode).toBe(0);
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

it("nothing in a sandbox sees its directory, and no process in one reaches its socket", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const script = `ls -A ${server.directory}; test -e ${join(server.directory, "keeper.sock")} && echo there; echo done`;
  const { stdout } = await host.run(["bash", "-c", script], { sandbox: "read-only", check: false });
  expect(stdout).toBe("done\n");
});

it.runIf(process.getuid?.() === 0)("another user gets neither in nor an answer", async () => {
  await using server = await DurableServer.start();
  const status = await runCli(["durable", "status", server.directory], NOBODY);
  expect(status.code).not.toBe(0);
  expect(status.err).toMatch(/EACCES|belongs to another user|permission denied/i);
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

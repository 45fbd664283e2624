import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { pollUntil } from "./deadline.ts";
import { DurableServer } from "./durable-server.ts";
import { mountTmpfs } from "./mounted-tmpfs.ts";

const DEADLINE_MS = 60_000;
const MIB = 1024 * 1024;
/** Far more than memory keeps. */
const LINES = 600_000;
const OUTPUT = Array.from({ length: LINES }, (_, index) => `${index + 1}\n`).join("");

const spooled = (server: DurableServer): string => join(server.directory, "output");
const files = (server: DurableServer): string[] =>
  readdirSync(spooled(server)).map((name) => join(spooled(server), name));

/** The output of a kept process, with `#` for each gap. */
async function readAll(host: Host, name: string): Promise<string> {
  const process = await host.attachKept(name, { fromSeq: 1 });
  return readEvents(process);
}

async function readEvents(process: RemoteProcess): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const event of process.events())
    if (event.kind === "output") pieces.push(event.bytes);
    else if (event.kind === "gap") pieces.push(Buffer.from("#"));
  return Buffer.concat(pieces).toString();
}

/** What is between gaps: it must be in the output in that order, and reach its end. */
function piecesOf(text: string, output: string): string[] {
  const pieces = text.split("#").filter((piece) => piece !== "");
  let from = 0;
  for (const piece of pieces) {
    from = output.indexOf(piece, from);
    expect(from).toBeGreaterThanOrEqual(0);
    from += piece.length;
  }
  expect(from).toBe(output.length);
  return pieces;
}

it("a kept process has its whole output, for readers that come late and after another server", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const process = await host.start(["seq", String(LINES)], { keep: "build" });
  await process.closed;
  expect(await readAll(host, "build")).toBe(OUTPUT);
  await server.kill("SIGKILL");
  await server.start();
  const url = ["--url", server.url];
  const logs = await server.command("logs", ...url, "build");
  expect([logs.out === OUTPUT, logs.err, logs.code]).toEqual([true, "", 0]);
  const tail = await server.command("logs", ...url, "--tail", "200000", "build");
  expect(tail.out).toBe(OUTPUT.split("\n").slice(-200_001).join("\n"));
  const head = await server.command("logs", ...url, "--head", "2", "build");
  expect(head.out).toBe("1\n2\n");
  const grep = await server.command("logs", ...url, "--grep", "^(77|5\\d0)0*$", "--head", "4", "build");
  expect(grep.out).toBe("77\n500\n510\n520\n");
  const since = await server.command(
    "logs",
    ...url,
    "--since",
    "1h",
    "--grep",
    "00000$",
    "--tail",
    "2",
    "build",
  );
  expect(since.out).toBe("500000\n600000\n");
  const timed = await server.command("logs", ...url, "-t", "--grep", "^1$", "build");
  expect(timed.out).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z 1\n$/);
});

it("a process whose output is wanted on disk has it there, and another one has not", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const asked = await host.start(["seq", String(LINES)], { spool: true });
  const plain = await host.start(["seq", String(LINES)], { keep: "plain", spool: false });
  await Promise.all([asked.closed, plain.closed]);
  expect(await readEvents(asked)).toBe(OUTPUT);
  const rest = await readAll(host, "plain");
  expect(rest).toMatch(/^#[^#]+$/);
  expect(OUTPUT.endsWith(rest.slice(1))).toBe(true);
  const { firstSeq, timesMs } = await host.request("process/times", { processId: asked.id });
  expect([firstSeq, timesMs.length > 10]).toEqual([1, true]);
  const none = await host.request("process/times", { processId: asked.id, ageMs: 0 });
  expect(none.firstSeq).toBeGreaterThan(10);
});

it("a page of a read says what follows, and where the exit is", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const { id } = await host.start(["sh", "-c", `seq ${LINES}; exit 3`], { keep: "p" });
  await host.request("process/wait", { processId: id, until: "closed" });
  let text = "";
  for (let afterSeq = 0, pages = 0; ; pages += 1) {
    const read = await host.request("process/read", {
      processId: id,
      afterSeq,
      spooled: true,
      maxBytes: 500_000,
    });
    for (const { seq, chunk } of read.chunks) {
      expect(seq).toBeGreaterThan(afterSeq);
      afterSeq = seq;
      text += Buffer.from(chunk, "base64").toString();
    }
    if (read.more === true) {
      expect(read).toMatchObject({ exited: false, exitCode: null, closed: false, nextSeq: afterSeq + 1 });
      continue;
    }
    expect(read).toMatchObject({ exited: true, exitCode: 3, closed: true, exitSeq: read.nextSeq - 2 });
    expect(pages).toBeGreaterThan(3);
    break;
  }
  expect(text).toBe(OUTPUT);
});

it("a limit removes the oldest output, and says so once", async () => {
  await using server = await DurableServer.start("--max-spooled-bytes-per-process", String(2 * MIB));
  await using host = await connect(server.url);
  await (await host.start(["seq", String(LINES)], { keep: "build" })).closed;
  const text = await readAll(host, "build");
  expect(text).toMatch(/^#[^#]+$/);
  expect(OUTPUT.endsWith(text.slice(1))).toBe(true);
  expect(text.length).toBeGreaterThan(1.8 * MIB);
  const { err } = await server.command("logs", "--url", server.url, "build");
  expect(err).toMatch(/^exec-server: the beginning is no longer retained \(events 1 to \d+\)\n$/);
  await (await host.attachKept("build", { mode: "control" })).detach({ forget: true });
  await pollUntil(
    () => files(server).length === 0,
    DEADLINE_MS,
    () => "the end of its files",
  );
});

it("files that somebody changes are gaps, and harm nothing else", async () => {
  await using server = await DurableServer.start();
  await using host = await connect(server.url);
  const script = `seq ${LINES}; read -r line; seq ${LINES}`;
  const changed = await host.start(["sh", "-c", script], { keep: "changed", stdin: "pipe" });
  const other = await host.start(["sh", "-c", script], { keep: "other", stdin: "pipe" });
  const isWritten = async (name: string): Promise<boolean> =>
    (await server.command("durable", "logs", server.directory, name)).out.endsWith(`\n${LINES}\n`);
  for (const name of ["changed", "other"])
    await pollUntil(
      () => isWritten(name),
      DEADLINE_MS,
      () => `the output of ${name}`,
    );
  for (const path of files(server)) {
    const bytes = readFileSync(path);
    if (!bytes.includes('"process":"changed"')) continue;
    bytes.fill("?", 1_000, 1_100);
    writeFileSync(path, bytes);
    truncateSync(path, bytes.length - 1_000);
  }
  for (const each of [changed, other]) await each.write("go\n");
  await Promise.all([changed.closed, other.closed]);
  expect(await readAll(host, "other")).toBe(OUTPUT + OUTPUT);
  expect(piecesOf(await readAll(host, "changed"), OUTPUT + OUTPUT).length).toBeGreaterThan(1);
  expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
});

it("what a keeper that was killed has run can still be printed", async () => {
  await using server = await DurableServer.start();
  const host = await connect(server.url);
  const lost = await host.start(["sh", "-c", "echo first; echo second >&2; sleep 300"], { keep: "build" });
  lost.closed.catch(() => {});
  const printed = (): Promise<string> =>
    server.command("durable", "logs", server.directory, "build").then(({ out }) => out);
  await pollUntil(
    async () => (await printed()) === "first\nsecond\n",
    DEADLINE_MS,
    () => "its output",
  );
  process.kill(await server.keeper(), "SIGKILL");
  await lost.closed.catch(() => {});
  await host.close();
  await using again = await connect(server.url);
  await (await again.start(["echo", "new"], { keep: "other" })).closed;
  expect(await printed()).toBe("first\nsecond\n");
  await pollUntil(
    async () => (await server.command("durable", "logs", server.directory)).out.split("\n").length === 3,
    DEADLINE_MS,
    () => "both",
  );
  const list = await server.command("durable", "logs", server.directory);
  expect(list.out).toMatch(/^build, of .*, since .*: sh -c .*\nother, of .*: echo new\n$/);
  const unknown = await server.command("durable", "logs", server.directory, "none");
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("there is no output of 'none'") });
});

it.runIf(process.getuid?.() === 0)("a full disk is a gap, and harms nobody", async () => {
  using disk = mountTmpfs("3m");
  await using server = await DurableServer.startBelow(disk.path);
  await using host = await connect(server.url);
  await (await host.start(["seq", String(LINES)], { keep: "build" })).closed;
  await pollUntil(
    () => server.said.includes("output cannot be written to disk"),
    DEADLINE_MS,
    () => "the warning",
  );
  expect(server.said).toContain("the disk is nearly full");
  const pieces = piecesOf(await readAll(host, "build"), OUTPUT);
  expect(pieces.length).toBeGreaterThan(1);
  expect(OUTPUT.startsWith(pieces[0]!)).toBe(true);
  // What memory has, as ever.
  expect(pieces.at(-1)!.length).toBeGreaterThan(900_000);
  expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
  // Room again.
  await (await host.attachKept("build", { mode: "control" })).detach({ forget: true });
  const small = await host.start(["seq", "200000"], { keep: "small" });
  await small.closed;
  expect(await readAll(host, "small")).toBe(OUTPUT.slice(0, OUTPUT.indexOf("200001\n")));
});

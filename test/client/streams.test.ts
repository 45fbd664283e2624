import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UsageError } from "../../src/base/errors.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { withDeadline } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { clientTargets, usingTarget } from "./client-targets.ts";

// Lines, streams, scripts and the environment, against every server and over every way to one.

const DEADLINE_MS = 30_000;
const MEBIBYTE = 1024 * 1024;

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

describe.each(clientTargets)("$name", ({ name, start }) => {
  const isOurs = name.startsWith("our");
  let host: Host;
  let directory: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "exec-server-streams-"));
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  usingTarget(start, (connected) => (host = connected));

  const shell = (script: string): Promise<RemoteProcess> => host.start(["/bin/sh", "-c", script]);

  test("a process has its number where the server reports it", async () => {
    await using process = await shell("echo $$; exec sleep 60");
    const { value } = await inTime(process.lines().next(), "its number");
    expect(process.pid).toBe(isOurs ? Number(value) : undefined);
    if (isOurs) expect(isAlive(process.pid!)).toBe(true);
  });

  test("lines come decoded, of one stream or of both", async () => {
    const script = `printf 'h\\303'; printf x >&2; printf '\\251llo\\r\\n\\nend'; printf 'y\\n' >&2`;
    expect(await inTime(linesOf((await shell(script)).lines()), "stdout")).toEqual(["héllo", "", "end"]);
    expect(await inTime(linesOf((await shell(script)).lines({ stream: "stderr" })), "stderr")).toEqual([
      "xy",
    ]);
    const both = await inTime(linesOf((await shell(script)).lines({ stream: "both" })), "both");
    expect(both.toSorted()).toEqual(["", "end", "héllo", "xy"]);
    const terminal = await host.terminal(["/bin/sh", "-c", "echo one; echo two >&2"]);
    expect(await inTime(linesOf(terminal.lines()), "a terminal")).toEqual(["one", "two"]);
    expect(await inTime(text(terminal.stderr), "no stderr")).toBe("");
  });

  test("leaving a loop over lines lets the process continue", async () => {
    const process = await shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); echo line $i; done; exit 7");
    for await (const line of process.lines()) {
      expect(line).toBe("line 1");
      break;
    }
    expect((await inTime(process.exited, "the end")).exitCode).toBe(7);
  });

  test("leaving lines that nobody has read, or that nobody can get, lets the process continue", async () => {
    const process = await shell("yes | head -c 10000000; exit 7");
    expect(() => process.lines({ maxLineBytes: 0 })).toThrow(UsageError);
    await process.lines().return?.();
    await expect(process.pipe(null as unknown as Writable)).rejects.toThrow(UsageError);
    expect((await inTime(process.exited, "the end")).exitCode).toBe(7);
  });

  test("stdout and stderr are web streams, which can be read one after the other", async () => {
    const process = await shell(
      "head -c 4000000 /dev/zero | tr '\\0' x; head -c 3000 /dev/zero | tr '\\0' y >&2",
    );
    expect(process.stdout).toBe(process.stdout);
    const { stderr } = process;
    // Stderr has no reader yet, and four megabytes of stdout do not wait for that.
    expect(await inTime(text(process.stdout), "stdout")).toBe("x".repeat(4_000_000));
    expect(await inTime(text(stderr), "stderr")).toBe("y".repeat(3000));
  });

  test("a web stream that is cancelled lets the process continue", async () => {
    const process = await shell("yes | head -c 10000000; exit 7");
    const reader = process.stdout.getReader();
    expect((await inTime(reader.read(), "a piece")).value?.length).toBeGreaterThan(0);
    await reader.cancel();
    expect((await inTime(process.exited, "the end")).exitCode).toBe(7);
  });

  test("output is piped to a Node stream and to a web stream, whole and in order", async () => {
    const file = join(directory, "piped");
    const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => `${index}\n`).join(""));
    const first = await shell("i=0; seq 0 299999");
    const destination = createWriteStream(file, { highWaterMark: 1024 });
    const written = new Promise<void>((resolve) => destination.once("close", resolve));
    await inTime(first.pipe(destination), "the end of the output");
    await inTime(written, "the end of the file");
    expect(digest(readFileSync(file))).toBe(digest(bytes));
    const second = await shell("seq 0 299999; echo noise >&2");
    const pieces: Uint8Array[] = [];
    let closed = false;
    const web = new WritableStream<Uint8Array>({
      write: (piece) => void pieces.push(piece),
      close: () => void (closed = true),
    });
    await inTime(second.pipe(web, { stream: "stdout" }), "the end of the output");
    expect(closed).toBe(true);
    expect(digest(Buffer.concat(pieces))).toBe(digest(bytes));
  });

  test("a destination that takes nothing makes the process wait, and one that fails rejects", async () => {
    const stuck = new PassThrough({ highWaterMark: 1024 });
    const process = await shell("yes | head -c 64000000; echo done >&2");
    const piped = process.pipe(stuck, { stream: "stdout" });
    piped.catch(() => {});
    const early = await Promise.race([
      process.exited.then(() => "ended"),
      new Promise((resolve) => setTimeout(() => resolve("waits"), 1_000)),
    ]);
    if (isOurs) expect(early).toBe("waits");
    expect(stuck.readableLength + stuck.writableLength).toBeLessThan(MEBIBYTE);
    stuck.destroy(new Error("the disk is full"));
    await expect(inTime(piped, "the failure")).rejects.toThrow("the disk is full");
    await inTime(process.kill(), "the kill");
    const gone = new Writable().destroy();
    await expect(inTime((await shell("echo x")).pipe(gone), "the failure")).rejects.toThrow("was closed");
  });

  test("a destination is left open where that is asked for", async () => {
    const open = new PassThrough();
    await inTime((await shell("echo one")).pipe(open, { end: false }), "one");
    await inTime((await shell("echo two")).pipe(open), "two");
    expect(await inTime(text(open), "both")).toBe("one\ntwo\n");
  });

  test.runIf(isOurs)("input comes from Node streams, web streams and iterables", async () => {
    const file = join(directory, "input");
    const content = "0123456789abcdef".repeat(200_000);
    writeFileSync(file, content);
    const size = { stdout: `${content.length}\n` };
    expect(await inTime(host.run(["wc", "-c"], { input: createReadStream(file) }), "Node")).toMatchObject(
      size,
    );
    const web = Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>;
    expect(await inTime(host.run(["wc", "-c"], { input: web }), "web")).toMatchObject(size);
    const pieces = ["one ", Buffer.from("two "), "three"];
    expect(await inTime(host.run(["cat"], { input: pieces }), "list")).toMatchObject({
      stdout: "one two three",
    });
    async function* generated() {
      yield* pieces;
    }
    const process = await host.start(["cat"], { stdin: "pipe" });
    expect(await inTime(process.communicate(generated()), "generator")).toMatchObject({
      stdout: "one two three",
    });
    const another = await host.start(["cat"], { stdin: "pipe" });
    await inTime(another.writeFrom(generated(), { end: false }), "the first part");
    await inTime(another.writeFrom([" four"]), "the second part");
    expect(await inTime(text(another.stdout), "its output")).toBe("one two three four");
  });

  test.runIf(isOurs)("a process that takes no more input gives its source up", async () => {
    const endless = new Readable({ read() {} });
    endless.push("first\n");
    const sourceClosed = new Promise((resolve) => endless.once("close", resolve));
    const { stdout } = await inTime(host.run(["head", "-n1"], { input: endless }), "the end");
    expect(stdout).toBe("first\n");
    await inTime(sourceClosed, "the end of the source");
    let returned = false;
    async function* waiting() {
      try {
        for (;;) yield "x".repeat(100_000);
      } finally {
        returned = true;
      }
    }
    const process = await host.start(["true"], { stdin: "pipe" });
    const writing = process.writeFrom(waiting());
    await expect(inTime(writing, "the refusal")).rejects.toMatchObject({ code: "STDIN_CLOSED" });
    expect(returned).toBe(true);
  });

  test.runIf(isOurs)("a source that fails, or gives what is no input, rejects", async () => {
    async function* failing() {
      yield "some";
      throw new Error("the source failed");
    }
    const process = await host.start(["cat"], { stdin: "pipe" });
    await expect(inTime(process.writeFrom(failing()), "the failure")).rejects.toThrow("the source failed");
    const numbers = [1, 2] as unknown as string[];
    await expect(inTime(process.writeFrom(numbers), "the refusal")).rejects.toThrow(UsageError);
    for (const none of [5, null, {}, true] as unknown as string[][]) {
      await expect(inTime(process.writeFrom(none), "the refusal")).rejects.toThrow(UsageError);
      await expect(inTime(process.communicate(none), "the refusal")).rejects.toThrow(UsageError);
      await expect(inTime(host.run(["cat"], { input: none }), "the refusal")).rejects.toThrow(UsageError);
    }
    await inTime(process.writeFrom("all of it"), "a text");
    expect(await inTime(linesOf(process.lines()), "its output")).toEqual(["someall of it"]);
  });

  test.runIf(!isOurs)("a stream as input needs a server that can close it", async () => {
    await expect(host.run(["cat"], { input: ["x"] })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  test("a script takes values that stand for themselves", async () => {
    const value = `it's "$(id)" & more`;
    const { stdout } = await inTime(
      host.sh`printf '%s|' ${value} "<${value}>" ${["a b", "c"]}`,
      "the script",
    );
    expect(stdout).toBe(`${value}|<${value}>|a b|c|`);
    const options = { cwd: directory, env: { X: "1" }, check: true };
    const inside = await inTime(host.sh(options)`pwd; echo $X`, "the script");
    expect(inside.stdout).toBe(`${directory}\n1\n`);
    await expect(host.sh({ check: true })`exit ${3}`).rejects.toMatchObject({ result: { exitCode: 3 } });
    await expect(host.sh({ shell: "/no/shell" })`true`).rejects.toMatchObject({ program: "/no/shell" });
    const misled = host as unknown as { sh(line: string): unknown };
    expect(() => misled.sh("ls")).toThrow(UsageError);
  });

  test("a variable that is undefined is not inherited", async () => {
    const env = { HOME: undefined, ADDED: "yes", NOT_THERE: undefined };
    const { stdout } = await inTime(host.run(["/usr/bin/env"], { env }), "its environment");
    const names = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0]);
    expect(names).toContain("PATH");
    expect(names).toContain("ADDED");
    expect(names).not.toContain("HOME");
    expect(names).not.toContain("NOT_THERE");
    await expect(host.run(["true"], { env: { "A*": undefined } })).rejects.toBeInstanceOf(UsageError);
  });
});

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import { ConnectionError, RpcError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import { CommandError, type Host } from "../../src/client/host/host.ts";
import type { OutputChunk } from "../../src/client/routes/process-events.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { CuttingProxy } from "../e2e/cutting-proxy.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { type ClientTarget, clientTargets, usingTarget } from "./client-targets.ts";

// What a user of the library does, against every server and over every transport.

const DEADLINE_MS = 20_000;
const MEBIBYTE = 1024 * 1024;
const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Reads until the text so far has what is looked for, and leaves the reader where it is. */
async function readUntil(reader: AsyncIterator<OutputChunk>, wanted: string): Promise<string> {
  let text = "";
  while (!text.includes(wanted)) {
    const { value, done } = await inTime(reader.next(), `${wanted} after ${text}`);
    if (done) throw new Error(`the output ended before ${wanted}: ${text}`);
    text += Buffer.from(value.bytes).toString();
  }
  return text;
}

async function textOf(process: RemoteProcess): Promise<string> {
  let text = "";
  for await (const { bytes } of process.output()) text += Buffer.from(bytes).toString();
  return text;
}

describe.each(clientTargets)("$name", ({ start, resumable, isSocket }) => {
  let target: ClientTarget;
  let host: Host;
  let directory: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "exec-server-end-to-end-"));
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  usingTarget(start, (connected, to) => ([host, target] = [connected, to]));

  test("a command runs to its end, and its streams are kept apart", async () => {
    const result = await host.run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]);
    expect(result).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      exitCode: 3,
      stdoutOmittedBytes: 0,
      stderrOmittedBytes: 0,
      gaps: [],
    });
    expect(result.durationMs).toBeGreaterThan(0);
  });

  test("check turns a failed command into an error with its last words", async () => {
    const failed = host.run(["/bin/sh", "-c", "echo first >&2; echo bad luck >&2; exit 4"], { check: true });
    await expect(failed).rejects.toBeInstanceOf(CommandError);
    await expect(failed).rejects.toMatchObject({ code: "COMMAND_FAILED", result: { exitCode: 4 } });
    await expect(failed).rejects.toThrow(/ended with 4: bad luck$/);
    await expect(host.run(["true"], { check: true })).resolves.toMatchObject({ exitCode: 0 });
  });

  test("directory, environment and name of a command are as asked for", async () => {
    const script = 'pwd; echo "$GREETING"; echo "$0"';
    const { stdout } = await host.run(["/bin/sh", "-c", script], {
      cwd: directory,
      env: { GREETING: "good day" },
      arg0: "my-shell",
    });
    expect(stdout).toBe(`${directory}\ngood day\nmy-shell\n`);
    const bare = await host.run(["/usr/bin/env"], { inheritEnv: "none", env: { ONLY: "this" } });
    expect(bare.stdout).toBe("ONLY=this\n");
    const full = await host.run(["/usr/bin/env"]);
    expect(full.stdout).toMatch(/^PATH=/m);
  });

  test("a program that does not exist is the server's error", async () => {
    await expect(host.run(["/no/such/program"])).rejects.toBeInstanceOf(RpcError);
    await expect(host.start(["/no/such/program"])).rejects.toBeInstanceOf(RpcError);
  });

  test("output streams while the process runs, and input reaches it", async () => {
    const script = 'echo one; read -r line; echo "two $line"; echo three >&2; exit 6';
    await using process = await host.start(["/bin/sh", "-c", script], { stdin: "pipe" });
    const reader = process.output();
    expect(await readUntil(reader, "one\n")).toBe("one\n");
    expect(process.isClosed).toBe(false);
    await process.write("more\n");
    const rest: string[] = [];
    for await (const { stream, bytes } of reader) rest.push(`${stream} ${Buffer.from(bytes).toString()}`);
    expect(rest.sort()).toEqual(["stderr three\n", "stdout two more\n"]);
    expect(await process.exited).toMatchObject({ exitCode: 6, sandboxDenied: false });
    await process.closed;
    expect(process.isClosed).toBe(true);
  });

  test("input to run is passed on byte for byte, and then ends", async () => {
    const input = randomBytes(3 * MEBIBYTE);
    const { stdoutBytes, exitCode } = await host.run(["cat"], { input });
    expect(exitCode).toBe(0);
    expect(sha256(stdoutBytes)).toBe(sha256(input));
    expect((await host.run(["wc", "-c"], { input: "fünf\n" })).stdout.trim()).toBe("6");
    expect((await host.run(["cat"], { input: "" })).stdout).toBe("");
  });

  test("a command that does not read its input is no error", async () => {
    const result = await host.run(["/bin/sh", "-c", "exit 7"], { input: randomBytes(MEBIBYTE) });
    expect(result.exitCode).toBe(7);
  });

  test("communicate writes, waits and collects", async () => {
    const script = 'read -r line; echo "got $line"; echo done >&2; exit 4';
    const process = await host.start(["/bin/sh", "-c", script], { stdin: "pipe" });
    expect(await inTime(process.communicate("hello\n"), "the end")).toMatchObject({
      stdout: "got hello\n",
      stderr: "done\n",
      exitCode: 4,
    });
  });

  test("stdin can be closed where the server can, and is refused with UNSUPPORTED elsewhere", async () => {
    const process = await host.start(["cat"], { stdin: "pipe" });
    if (host.supports("process/closeStdin")) {
      const { stdout, exitCode } = await inTime(process.communicate("all of it"), "the end");
      expect({ stdout, exitCode }).toEqual({ stdout: "all of it", exitCode: 0 });
    } else {
      await expect(process.closeStdin()).rejects.toMatchObject({ code: "UNSUPPORTED" });
      await process.kill();
      await process.closed;
    }
  });

  test("a terminal is one, has the size asked for, and takes keys", async () => {
    const script = "test -t 0 && test -t 1 && stty size; read -r line; stty size; exit 5";
    await using terminal = await host.terminal(["/bin/sh", "-c", script], { cols: 101, rows: 37 });
    expect(terminal.tty).toBe(true);
    const reader = terminal.output();
    await readUntil(reader, "37 101\r\n");
    if (host.supports("process/resize")) {
      await terminal.resize({ cols: 60, rows: 20 });
      await terminal.write("\n");
      await readUntil(reader, "20 60\r\n");
    } else {
      await expect(terminal.resize({ cols: 60, rows: 20 })).rejects.toMatchObject({ code: "UNSUPPORTED" });
      await terminal.write("\n");
      await readUntil(reader, "37 101\r\n");
    }
    expect(await terminal.wait({ timeoutMs: DEADLINE_MS })).toMatchObject({ exitCode: 5 });
  });

  test("a terminal without a size has 24 rows and 80 columns", async () => {
    const terminal = await host.terminal(["stty", "size"]);
    expect(await inTime(textOf(terminal), "the size")).toBe("24 80\r\n");
  });

  test("8 MiB of output arrive byte for byte", async () => {
    const child = await host.start([process.execPath, fixture("emit-pattern.mjs"), String(8 * MEBIBYTE)]);
    const hash = createHash("sha256");
    let told = "";
    let bytes = 0;
    for await (const chunk of child.output()) {
      if (chunk.stream === "stderr") {
        told += Buffer.from(chunk.bytes).toString();
      } else {
        hash.update(chunk.bytes);
        bytes += chunk.bytes.length;
      }
    }
    expect(bytes).toBe(8 * MEBIBYTE);
    expect(`${hash.digest("hex")}\n`).toBe(told);
    expect(await child.exited).toMatchObject({ exitCode: 0 });
  });

  test("run keeps the head and the tail of too much output, and says how much is missing", async () => {
    const result = await host.run(["seq", "1", "200000"], { maxOutputBytes: 1000 });
    expect(result.stdoutBytes.length + result.stdoutOmittedBytes).toBe(1_288_895);
    expect(result.stdoutBytes.length).toBeLessThanOrEqual(1000);
    expect(result.stdout.startsWith("1\n2\n3\n")).toBe(true);
    expect(result.stdout.endsWith("199999\n200000\n")).toBe(true);
  });

  test("kill and interrupt end a process with the status of their signals", async () => {
    const killed = await host.start(["sleep", "60"]);
    expect(await killed.kill()).toBe(true);
    expect(await inTime(killed.exited, "the end")).toMatchObject({ exitCode: 137 });
    await inTime(killed.closed, "the end of the output");
    const interrupted = await host.start(["sleep", "60"]);
    await interrupted.interrupt();
    expect(await inTime(interrupted.exited, "the end")).toMatchObject({ exitCode: 130 });
    const ended = await host.start(["true"]);
    await ended.closed;
    expect(await ended.kill()).toBe(false);
  });

  test("a line is run by the shell, and an array without one", async () => {
    const line = await host.run("echo one | tr o 0; echo $((6 * 7)); exit 3");
    expect(line).toMatchObject({ stdout: "0ne\n42\n", exitCode: 3 });
    const started = await host.start("echo started; echo too >&2");
    expect(await inTime(textOf(started), "the output")).toContain("started");
    const program = await host.run(["echo", "one | tr o 0"]);
    expect(program.stdout).toBe("one | tr o 0\n");
    await expect(host.run("echo why >&2; exit 4", { check: true })).rejects.toMatchObject({
      argv: ["/bin/sh", "-c", "echo why >&2; exit 4"],
      message: "/bin/sh -c echo why >&2; exit 4 ended with 4: why",
    });
  });

  test("callbacks get the output as it arrives, in whole characters", async () => {
    const said: string[] = [];
    const errors: string[] = [];
    // The second half of the umlaut comes when the first one has been read.
    const script = `printf 'a\\303'; read line; printf '\\244b'; echo error >&2; printf '\\303'`;
    const first = createDeferred<void>();
    const running = host.run(script, {
      input: (async function* () {
        await first.promise;
        yield "\n";
      })(),
      onStdout: (text) => {
        said.push(text);
        first.resolve();
      },
      onStderr: (text) => void errors.push(text),
    });
    if (!host.supports("process/closeStdin")) {
      await expect(running).rejects.toMatchObject({ code: "UNSUPPORTED" });
      return;
    }
    expect(await inTime(running, "the run")).toMatchObject({ exitCode: 0, stderr: "error\n" });
    expect([said.join(""), errors.join("")]).toEqual(["aäb\uFFFD", "error\n"]);
    expect(said[0]).toBe("a");
  });

  test("a callback that throws ends the process, and run rejects with its error", async () => {
    const path = join(directory, "callback");
    const running = host.run(`echo $$ > ${path}; echo up; exec sleep 60`, {
      onStdout: () => {
        throw new Error("my mistake");
      },
    });
    await expect(inTime(running, "the rejection")).rejects.toThrow("my mistake");
    const pid = Number(readFileSync(path, "utf8"));
    await pollUntil(
      () => !isAlive(pid),
      DEADLINE_MS,
      () => "the end of the process",
    );
  });

  test("an abort ends a process with SIGTERM, and kills it if it stays", async () => {
    for (const [reaction, last] of [
      ["echo bye; exit 5", "bye"],
      ["echo ignored", "ignored"],
    ]) {
      const controller = new AbortController();
      const process = await host.start(`trap '${reaction}' TERM; echo up; while :; do sleep 0.05; done`, {
        signal: controller.signal,
      });
      const output = process.output()[Symbol.asyncIterator]();
      await readUntil(output, "up");
      controller.abort();
      if (!host.supports("process/terminate.mode")) {
        expect(await inTime(process.exited, "the end")).toMatchObject({ exitCode: 137 });
        continue;
      }
      await readUntil(output, last!);
      expect(await inTime(process.exited, "the end")).toMatchObject({ exitCode: last === "bye" ? 5 : 137 });
    }
  });

  test("an aborted run rejects with the reason, and its process is gone", async () => {
    const path = join(directory, "aborted");
    const controller = new AbortController();
    const running = host.run(["/bin/sh", "-c", `echo $$ > ${path}; exec sleep 60`], {
      signal: controller.signal,
    });
    running.catch(() => {});
    const readPid = (): number | false => {
      try {
        return Number(readFileSync(path, "utf8").trim()) || false;
      } catch {
        return false;
      }
    };
    const pid = await pollUntil(readPid, DEADLINE_MS, () => "the pid");
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    await pollUntil(
      () => !isAlive(pid),
      DEADLINE_MS,
      () => "the end of the process",
    );
  });

  test("waiting has a timeout that leaves the process alone, and leaving its scope kills it", async () => {
    let kept: RemoteProcess;
    {
      await using process = await host.start(["sleep", "60"]);
      kept = process;
      await expect(process.wait({ timeoutMs: 50 })).rejects.toMatchObject({ code: "TIMED_OUT" });
      expect(process.isClosed).toBe(false);
    }
    expect(kept.isClosed).toBe(true);
    expect(await kept.exited).toMatchObject({ exitCode: 137 });
  });

  test("100 commands at once each get their own result", async () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map((number) => host.run(["/bin/sh", "-c", `echo out ${number}; exit ${number % 50}`])),
    );
    expect(results.map(({ stdout, exitCode }) => `${stdout}${exitCode}`)).toEqual(
      numbers.map((number) => `out ${number}\n${number % 50}`),
    );
  });

  test("files are written, read, listed, examined, copied and removed", async () => {
    const path = join(directory, "größe #1.txt");
    const bytes = randomBytes(5 * MEBIBYTE);
    await host.files.write(path, "hello wörld");
    expect(await host.files.readText(path)).toBe("hello wörld");
    await host.files.write(path, bytes);
    expect(sha256(await host.files.read(path))).toBe(sha256(bytes));
    expect(await host.files.stat(path)).toMatchObject({ kind: "file", size: bytes.length });
    const folder = join(directory, "a", "b");
    await host.files.mkdir(folder);
    await host.files.copy(path, join(folder, "copy"));
    expect(await host.files.list(folder)).toEqual([{ name: "copy", kind: "file" }]);
    await host.files.remove(join(directory, "a"), { recursive: true });
    await expect(host.files.read(join(folder, "copy"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("fetch makes requests from the server's machine", async () => {
    const upstream = http.createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        response.writeHead(request.method === "POST" ? 201 : 200, { "x-method": request.method });
        response.end(request.method === "POST" ? Buffer.concat(parts) : JSON.stringify({ fine: true }));
      });
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
    try {
      const got = await host.fetch(url);
      expect({ status: got.status, body: await got.json() }).toEqual({ status: 200, body: { fine: true } });
      const body = randomBytes(2 * MEBIBYTE);
      const posted = await host.fetch(url, { method: "POST", body });
      expect(posted.status).toBe(201);
      expect(posted.headers.get("x-method")).toBe("POST");
      expect(sha256(new Uint8Array(await posted.arrayBuffer()))).toBe(sha256(body));
    } finally {
      upstream.closeAllConnections();
      upstream.close();
    }
  });

  test("what is still running ends with its host", async () => {
    const path = join(directory, "left");
    const second = await target.connect();
    const process = await second.start(["/bin/sh", "-c", `echo $$ > ${path}; echo up; exec sleep 60`]);
    await readUntil(process.output(), "up\n");
    const pid = Number(readFileSync(path, "utf8"));
    expect(isAlive(pid)).toBe(true);
    await second.close();
    await pollUntil(
      () => !isAlive(pid),
      DEADLINE_MS,
      () => "the end of the process",
    );
    await expect(second.run(["true"])).rejects.toBeInstanceOf(ConnectionError);
    expect(await second.closed).toEqual({ reason: undefined });
    expect((await host.run(["echo", "the other"])).stdout).toBe("the other\n");
  });

  test.runIf(isSocket)("a cut connection is replaced, and nothing is lost or doubled", async () => {
    await using proxy = await CuttingProxy.open(target.url!);
    await using cut = await connect(proxy.url);
    const states: string[] = [];
    cut.onStateChange((state) => states.push(state));
    const process = await cut.start(
      ["/bin/sh", "-c", 'while read -r line; do echo "got $line"; [ "$line" = end ] && exit 8; done'],
      { stdin: "pipe" },
    );
    const reader = process.output();
    await process.write("1\n");
    await readUntil(reader, "got 1\n");
    // The server acts on the write, and its answer does not arrive whole.
    proxy.cutWithin(({ result }) => result?.["status"] === "accepted");
    const written = process.write("2\n");
    await proxy.until(() => proxy.isCut, "the cut");
    await proxy.until(() => proxy.refused > 0, "a try to connect");
    const asked = cut.run(["echo", "after the break"]);
    proxy.readmit();
    await inTime(written, "the write");
    expect((await inTime(asked, "the run")).stdout).toBe("after the break\n");
    await process.write("end\n");
    expect(await readUntil(reader, "got end\n")).toBe("got 2\ngot end\n");
    expect(await inTime(process.exited, "the exit")).toMatchObject({ exitCode: 8 });
    expect(states).toEqual(["recovering", "connected"]);
  });

  test.runIf(resumable)("a detached session is continued by another client", async () => {
    const first = await target.connect();
    const script = 'echo before; read -r line; echo "after $line"; exit 9';
    await first.start(["/bin/sh", "-c", script], { stdin: "pipe", processId: "kept" });
    const { sessionId } = first;
    await first.detach();
    await using second = await target.connect({ resumeSessionId: sessionId });
    expect(second.sessionId).toBe(sessionId);
    const adopted = await second.adopt("kept");
    await adopted.write("the change\n");
    expect(await inTime(textOf(adopted), "the output")).toBe("before\nafter the change\n");
    expect(await adopted.exited).toMatchObject({ exitCode: 9 });
  });
});

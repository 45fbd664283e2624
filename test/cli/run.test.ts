import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Relay } from "../client/relay.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { builtCli, type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { type CommandOptions, type Ended, runCommand, startCommand, startUnread } from "./command.ts";

// `exec-server run` on pipes.

const DEADLINE_MS = 60_000;
const MIB = 1024 * 1024;
const INPUT_MIB = Number(process.env["CLI_INPUT_MIB"] ?? 48);

let server: ServerUnderTest;
let directory: string;

beforeAll(async () => {
  server = await startServer();
  directory = mkdtempSync(join(tmpdir(), "exec-server-run-"));
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const here = (): Record<string, string> => ({ EXEC_SERVER_URL: server.url });
const run = (args: readonly string[], options: CommandOptions = {}): Promise<Ended> =>
  runCommand(["run", ...args], { ...options, env: { ...here(), ...options.env } });
const start = (args: readonly string[]) => startCommand(["run", ...args], { env: here() });

describe.concurrent("run", () => {
  test("passes on stdout, stderr and the status", async () => {
    const script = "echo out; echo err >&2; exit 3";
    expect(await run(["--", "sh", "-c", script])).toEqual({
      status: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  test("takes the options of a command as its own only before the command", async () => {
    expect((await run(["echo", "-n", "--cwd", "x", "--", "y"])).stdout).toBe("--cwd x -- y");
  });

  test("reports a signal that ended the command as a shell does", async () => {
    expect((await run(["sh", "-c", "kill -KILL $$"])).status).toBe(137);
  });

  test("says what was wrong with the start, with the status of a shell", async () => {
    const file = join(directory, "plain");
    writeFileSync(file, "");
    chmodSync(file, 0o644);
    expect(await run(["no-such-program"])).toMatchObject({
      status: 127,
      stderr: "exec-server: no-such-program: command not found\n",
    });
    expect(await run(["ls -la"])).toMatchObject({
      status: 127,
      stderr:
        "exec-server: ls -la: command not found; no shell reads the line: pass each word by itself, or use sh -c 'LINE'\n",
    });
    expect(await run(["--", ""])).toMatchObject({
      status: 127,
      stderr: "exec-server: '': command not found\n",
    });
    const long = await run([`${"x".repeat(100_000)}\ny`]);
    expect({ status: long.status, lines: long.stderr.split("\n").length }).toEqual({ status: 127, lines: 2 });
    expect(long.stderr).toMatch(/^exec-server: x{1500} … x+\\ny: command not found\n$/);
    expect(long.stderr.length).toBeLessThan(3_000);
    expect(await run([file])).toMatchObject({
      status: 126,
      stderr: `exec-server: ${file}: not executable\n`,
    });
    expect(await run(["--cwd", "/no/such", "true"])).toMatchObject({
      status: 255,
      stderr: "exec-server: /no/such: no such directory; choose another with --cwd\n",
    });
  });

  test("refuses an invalid command line with status 2 and one line", async () => {
    for (const args of [
      [],
      ["--no-such-option", "true"],
      ["--timeout", "soon", "true"],
      ["--env", "=", "true"],
    ]) {
      const { status, stdout, stderr } = await run(args);
      expect({ status, stdout, lines: stderr.split("\n").length }).toEqual({
        status: 2,
        stdout: "",
        lines: 2,
      });
      expect(stderr).toMatch(/^exec-server: /);
    }
  });

  test("ends a command after its timeout with status 124", async () => {
    expect((await run(["--timeout", "200ms", "sleep", "60"])).status).toBe(124);
  });

  test("sets variables and the working directory", async () => {
    const { stdout } = await run(
      ["--env", "A=1=2", "--env", "B", "--cwd", directory, "sh", "-c", "echo $A$B; pwd"],
      {
        env: { B: "b" },
      },
    );
    expect(stdout).toBe(`1=2b\n${directory}\n`);
  });

  test("confines a command in a sandbox", async () => {
    const file = join(directory, "forbidden");
    const { status } = await run(["--sandbox", "read-only", "sh", "-c", `echo x > ${file}`]);
    expect(status).not.toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  test("passes on stdin, and its end", async () => {
    expect((await run(["wc", "-c"], { input: "12345" })).stdout.trim()).toBe("5");
  });

  test("reads nothing from stdin with -n", async () => {
    const command = start(["-n", "wc", "-c"]);
    expect((await command.ended()).stdout.trim()).toBe("0");
  });

  test("ends with the command, although stdin is still open", async () => {
    expect((await start(["sh", "-c", "exit 4"]).ended()).status).toBe(4);
  });

  test(`passes ${INPUT_MIB} MiB from stdin to stdout unchanged`, { timeout: 600_000 }, async () => {
    const block = randomBytes(MIB);
    const [sent, received] = [createHash("sha256"), createHash("sha256")];
    const { child } = startUnread(["run", "cat"], { env: here() });
    let bytes = 0;
    child.stdout!.on("data", (chunk: Buffer) => {
      received.update(chunk);
      bytes += chunk.length;
    });
    for (let index = 0; index < INPUT_MIB; index += 1) {
      block.writeUInt32LE(index);
      sent.update(block);
      await new Promise((resolve) => child.stdin!.write(block, resolve));
    }
    child.stdin!.end();
    const status = await new Promise((resolve) => child.once("close", resolve));
    expect({ status, bytes }).toEqual({ status: 0, bytes: INPUT_MIB * MIB });
    expect(received.digest("hex")).toBe(sent.digest("hex"));
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const)("passes on %s", async (signal) => {
    const name = signal.slice(3);
    const script = `trap 'echo got ${name}; exit 7' ${name}; echo ready; while :; do sleep 0.05; done`;
    const command = start(["sh", "-c", script]);
    await command.shows("ready");
    command.child.kill(signal);
    expect(await command.ended()).toMatchObject({ status: 7, stdout: `ready\ngot ${name}\n` });
  });

  test("is ended by Ctrl-C as the command is, so that a script stops there", async () => {
    const command = start(["sh", "-c", "echo ready; exec sleep 60"]);
    await command.shows("ready");
    command.child.kill("SIGINT");
    expect(await command.ended()).toMatchObject({ status: null, signal: "SIGINT", stderr: "" });
  });

  test("ends the command when its output loses its reader", async () => {
    const alive = join(directory, "alive");
    const command = start(["sh", "-c", `echo $$ > ${alive}; exec yes`]);
    await command.shows("y\n");
    command.child.stdout!.destroy();
    expect((await command.ended()).status).toBe(141);
    await pollUntil(
      () => !isAlive(alive),
      DEADLINE_MS,
      () => "the end of yes",
    );
  });

  test("takes signals although nobody reads its output", async () => {
    const alive = join(directory, "unread");
    const { child } = startUnread(["run", "sh", "-c", `echo $$ > ${alive}; echo ready; exec yes`], {
      env: here(),
    });
    const exited = once(child, "exit");
    await once(child.stdout!, "data");
    child.stdout!.pause();
    child.kill("SIGINT");
    // The first one ends the command, a later one this program, which cannot get rid of the output.
    const again = setInterval(() => child.kill("SIGINT"), 300);
    const [status, signal] = await withDeadline(exited, DEADLINE_MS, () => "the end");
    clearInterval(again);
    expect(signal ?? status).toSatisfy((end) => end === 130 || end === "SIGINT");
    // The end of its session would end it after 80 s.
    await pollUntil(
      () => !isAlive(alive),
      DEADLINE_MS,
      () => "the end of yes",
    );
    child.stdout!.destroy();
  });

  test("says in one line that its output cannot be written", async () => {
    const command = `exec "$0" "$1" run --url "$2" -- seq 100000 > /dev/full`;
    const { status, stderr } = spawnSync("sh", ["-c", command, process.execPath, builtCli, server.url], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect({ status, stderr }).toEqual({
      status: 255,
      stderr: "exec-server: cannot write the output: No space left on device (os error 28)\n",
    });
  });

  test("continues after the connection was cut, without losing or repeating a line", async () => {
    await using relay = await Relay.open(server.port);
    const script = "for i in $(seq 200); do echo $i; sleep 0.01; done";
    const command = startCommand(["run", "--url", relay.url, "sh", "-c", script]);
    for (const line of ["\n20\n", "\n60\n", "\n100\n"]) {
      await command.shows(line);
      relay.cut();
    }
    const expected = Array.from({ length: 200 }, (_, index) => `${index + 1}\n`).join("");
    expect(await command.ended()).toMatchObject({ status: 0, stdout: expected, stderr: "" });
  });

  test("shows the messages of the wire with --debug", async () => {
    const { stderr } = await run(["--debug", "true"]);
    expect(stderr).toMatch(/^--> \{"id":1,"method":"initialize"/);
    expect(stderr).toMatch(/^<-- .*"method":"process\/closed"/m);
  });

  test("says in one line that there is no server", async () => {
    const { status, stderr } = await runCommand(["run", "--url", "ws://127.0.0.1:1", "true"]);
    expect({ status, lines: stderr.split("\n").length }).toEqual({ status: 255, lines: 2 });
    expect(stderr).toMatch(/ECONNREFUSED.*is the server running there\?/);
  });
});

function isAlive(pidFile: string): boolean {
  try {
    process.kill(Number(readFileSync(pidFile, "utf8")), 0);
    return true;
  } catch {
    return false;
  }
}

import {
  closeSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { listChildren, readProcFile } from "../../native/process-stat.ts";
import type { Program } from "../../native/spawn.ts";
import type { Confinement, Sandbox } from "../sandbox/sandbox.ts";
import type { ManagedProcess } from "./managed-process.ts";
import { ProcessStarter } from "./process-starter.ts";
import type { StartRequest } from "./start-request.ts";

const LIMITS = { maxRetainedBytes: 100_000, maxRetainedChunks: 100 };
/** More than the kernel allows anybody. */
const TOO_MANY_FILES = 2 ** 40;
const CONFINEMENT = {} as Confinement;

const logged: string[] = [];
/** What the sandbox was asked for. */
const calls: string[] = [];
let confined: Program = { path: "/bin/sh", argv: ["sh", "-c", "exit 5"], env: [], cwd: "/" };

const sandbox: Partial<Sandbox> = {
  prove: async () => void calls.push("prove"),
  confine: async ({ name }) => {
    calls.push(`confine ${name}`);
    return {
      program: confined,
      started: () => void calls.push("started"),
      ended: () => void calls.push("ended"),
    };
  },
};

let starter: ProcessStarter;

beforeAll(() => {
  const logger = { ...silentLogger, error: (message: string) => void logged.push(message) };
  starter = new ProcessStarter(LIMITS, { logger, sandbox: sandbox as Sandbox });
});

function request(script: string, more: Partial<StartRequest> = {}): StartRequest {
  return { argv: ["/bin/sh", "-c", script], cwd: "/", env: new Map(), stdin: "none", ...more };
}

function closed(process: ManagedProcess): Promise<number | undefined> {
  return new Promise((resolve) => {
    process.listen(({ kind }) => {
      if (kind === "closed") resolve(process.state.exitCode);
    });
  });
}

async function run(script: string, more: Partial<StartRequest> = {}) {
  const process = await starter.start(request(script, more));
  const exitCode = await closed(process);
  const output = Buffer.concat(process.chunksAfter(0, Number.POSITIVE_INFINITY).map(({ bytes }) => bytes));
  return { exitCode, output: output.toString() };
}

function readText(fd: number): string {
  const bytes = Buffer.alloc(100);
  return bytes.toString("utf8", 0, readSync(fd, bytes));
}

/** How often this program has each pipe open. */
function openPipes(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const fd of readdirSync("/proc/self/fd")) {
    const link = readLink(fd);
    if (link.startsWith("pipe:")) counts.set(link, (counts.get(link) ?? 0) + 1);
  }
  return counts;
}

function readLink(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The descriptor of the listing itself.
    return "";
  }
}

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

describe("a start", () => {
  it("gives a process whose output and exit are known, and a warden beside it", async () => {
    expect(await run("echo hello; exit 3")).toEqual({ exitCode: 3, output: "hello\n" });
    expect(starter.running).toBe(0);
    const children = listChildren(process.pid).map((pid) => readProcFile(`${pid}/cmdline`) ?? "");
    expect(children.filter((line) => line.endsWith("\0exec-server-warden\0"))).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  it("has its turn, however many there are at once", async () => {
    const codes = Array.from({ length: 14 }, (_, code) => code);
    const runs = await Promise.all(codes.map((code) => run(`exit ${code}`)));
    expect(runs.map(({ exitCode }) => exitCode)).toEqual(codes);
  });

  it("fails with the reason of the system, and the next ones continue", async () => {
    const failures = Array.from({ length: 6 }, () =>
      starter.start(request("", { argv: ["/no/such/program"] })).catch((error: unknown) => error),
    );
    for (const failure of await Promise.all(failures))
      expect(failure).toMatchObject({ code: "SPAWN_FAILED", reason: "notFound" });
    await expect(starter.start(request("", { argv: ["/etc"] }))).rejects.toMatchObject({
      code: "SPAWN_FAILED",
      reason: "notExecutable",
    });
    await expect(starter.start(request("", { cwd: "/no/such" }))).rejects.toMatchObject({
      code: "SPAWN_FAILED",
      reason: "noSuchDirectory",
    });
    expect(await run("exit 4")).toMatchObject({ exitCode: 4 });
  });
});

describe("a start on a terminal", () => {
  it("gives it its size, and lets the program control it", async () => {
    const size = { rows: 30, columns: 90 };
    const { exitCode, output } = await run("stty size; echo hello > /dev/tty", { stdin: { terminal: size } });
    expect([exitCode, output]).toEqual([0, "30 90\r\nhello\r\n"]);
  });

  it("lets Backspace erase a whole character, not one of its bytes", async () => {
    const stdin = { terminal: { rows: 30, columns: 90 } };
    const process = await starter.start(request('read -r line; echo "got $line"', { stdin }));
    const end = closed(process);
    process.input!.write(Buffer.from("aü漢😀\x7f\x7f\x7fb\n"), () => {});
    await end;
    expect(Buffer.from(process.snapshot("pty", 1000).head).toString()).toMatch(/got ab\r\n$/);
  });

  it("leaves control of it to what a sandbox runs", async () => {
    const working = confined;
    onTestFinished(() => {
      confined = working;
    });
    confined = { ...working, argv: ["sh", "-c", "test -t 0 || exit 1; true < /dev/tty || exit 6"] };
    const stdin = { terminal: { rows: 30, columns: 90 } };
    const { exitCode } = await run("", { stdin, confinement: CONFINEMENT });
    expect(exitCode).toBe(6);
  });
});

describe("a start with a pipe", () => {
  it("gives the program what is written", async () => {
    const process = await starter.start(request("read -r line; echo got $line", { stdin: "pipe" }));
    const end = closed(process);
    process.input!.write(Buffer.from("words\n"), () => {});
    await end;
    expect(Buffer.from(process.snapshot("stdout", 100).head).toString()).toBe("got words\n");
  });
});

describe("a start with limits", () => {
  it("sets them before the program runs", async () => {
    const { exitCode, output } = await run("ulimit -n; ulimit -t", {
      limits: { openFiles: 77, cpuSeconds: 9 },
    });
    expect([exitCode, output]).toEqual([0, "77\n9\n"]);
  });

  it("runs nothing if they cannot be set, and leaves nothing behind", async () => {
    const directory = mkdtempSync(join(tmpdir(), "starter-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const witness = join(directory, "ran");
    const before = openDescriptors();
    await expect(
      starter.start(request(`touch ${witness}`, { limits: { openFiles: TOO_MANY_FILES } })),
    ).rejects.toMatchObject({
      message: expect.stringContaining(`cannot limit openFiles to ${TOO_MANY_FILES}`),
    });
    await expect.poll(() => starter.running).toBe(0);
    expect(existsSync(witness)).toBe(false);
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before);
  });

  it("is refused for a program with another name, which the shell before it cannot give", async () => {
    const refused = { code: "INVALID_INPUT" };
    for (const [more, word] of [
      [{ limits: { openFiles: 77 } }, "limits"],
      [{ contain: true }, "contain"],
    ] as const)
      await expect(starter.start(request("", { arg0: "other", ...more }))).rejects.toMatchObject({
        ...refused,
        message: `${word} cannot be set for a program that runs under another name`,
      });
    expect(starter.running).toBe(0);
  });
});

describe("a confined start", () => {
  it("tells the sandbox when the program is started, and when it has ended", async () => {
    calls.length = 0;
    const process = await starter.start(request("", { argv: ["tool"], confinement: CONFINEMENT }));
    expect(calls).toEqual(["prove", "confine tool", "started"]);
    expect(await closed(process)).toBe(5);
    expect(calls).toEqual(["prove", "confine tool", "started", "ended"]);
  });

  it("tries the sandbox itself without a trial", async () => {
    calls.length = 0;
    const process = await starter.start(
      request("", { argv: ["tool"], confinement: { ...CONFINEMENT, isTrial: true } }),
    );
    await closed(process);
    expect(calls).toEqual(["confine tool", "started", "ended"]);
  });

  it("tells the sandbox that the program is over if it could not be started", async () => {
    calls.length = 0;
    const working = confined;
    confined = { ...confined, path: "/no/such/program" };
    onTestFinished(() => {
      confined = working;
    });
    const failed = starter.start(request("", { argv: ["tool"], confinement: CONFINEMENT }));
    await expect(failed).rejects.toMatchObject({ code: "SPAWN_FAILED" });
    expect(calls).toEqual(["prove", "confine tool", "ended", "started"]);
    calls.length = 0;
    const inner = { name: "helper", argv: [], env: [], cwd: "/", onTerminal: false };
    await expect(starter.startOwn(inner, CONFINEMENT)).rejects.toMatchObject({ errno: "ENOENT" });
    expect(calls).toEqual(["prove", "confine helper", "ended", "started"]);
  });

  it("runs programs of the server itself on three pipes", async () => {
    calls.length = 0;
    const working = confined;
    onTestFinished(() => {
      confined = working;
    });
    confined = { ...working, argv: ["sh", "-c", "read -r line; echo $line; echo bad >&2; exit 5"] };
    const inner = { name: "helper", argv: [], env: [], cwd: "/", onTerminal: false };
    const { stdin, stdout, stderr, exited } = await starter.startOwn(inner, CONFINEMENT);
    expect(calls).toEqual(["prove", "confine helper", "started"]);
    writeSync(stdin, "words\n");
    expect(await exited).toMatchObject({ exitCode: 5 });
    expect(calls.at(-1)).toBe("ended");
    expect([readText(stdout), readText(stderr)]).toEqual(["words\n", "bad\n"]);
    for (const fd of [stdin, stdout, stderr]) closeSync(fd);
  });

  it("is refused where the directory is none", async () => {
    const confinement = CONFINEMENT;
    for (const cwd of ["/no/such", "/etc/passwd"])
      await expect(starter.start(request("", { argv: ["tool"], cwd, confinement }))).rejects.toMatchObject({
        code: "SPAWN_FAILED",
        reason: "noSuchDirectory",
      });
  });
});

describe("ending all", () => {
  it("asks everything to end, and is done when it has", async () => {
    const processes = await Promise.all([0, 1].map(() => starter.start(request("exec sleep 60"))));
    expect(starter.running).toBe(2);
    await starter.terminateAll(20_000);
    expect(starter.running).toBe(0);
    for (const { state } of processes)
      expect(state.report).toMatchObject({ signal: "SIGTERM", killedBy: "server" });
    await starter.swept();
  });

  it("is swept when nothing is watched any more", async () => {
    // The warden starts with the first process.
    await closed(await starter.start(request("true")));
    const before = openPipes();
    const process = await starter.start(request("exec sleep 60"));
    const own = [...openPipes().keys()].filter((link) => !before.has(link));
    const counts = (): number[] => own.map((link) => openPipes().get(link) ?? 0);
    expect(counts()).toEqual([1, 1]);
    const end = closed(process);
    process.kill("family");
    expect(counts()).toEqual([2, 2]);
    // Its end is watched, too, which may begin after the first search.
    await end;
    await starter.swept();
    expect(counts()).toEqual([0, 0]);
  });

  it("is done after the deadline, too, and kills what does not end", async () => {
    const process = await starter.start(request("trap '' TERM; echo ready; while :; do sleep 1; done"));
    await expect.poll(() => process.state.nextSeq).toBeGreaterThan(1);
    await starter.terminateAll(50);
    expect(starter.running).toBe(1);
    const end = closed(process);
    starter.killAll();
    await end;
    expect(process.state.report?.signal).toBe("SIGKILL");
    await starter.swept();
  });
});

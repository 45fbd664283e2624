import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { fixture, LIBRARY_SIGNALS, outputOf, run, shell, untilOutput, write } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { start, type VerifyContext, verifies } from "./verifies.ts";

const argvPrinter = [process.execPath, fixture("print-argv.mjs")];

/** Fields of /proc/PID/stat from the process id on: pid, name, state, parent, group, session, terminal, foreground. */
async function statOf(peer: RawPeer, overrides: Record<string, unknown> = {}): Promise<string[]> {
  return (await outputOf(peer, "stat", ["cat", "/proc/self/stat"], overrides)).split(" ");
}

/** The argument vector a process was really given. */
async function argvOf(peer: RawPeer, processId: string, argv: readonly string[]): Promise<string[]> {
  return JSON.parse(await outputOf(peer, processId, [...argvPrinter, ...argv])) as string[];
}

verifies("spawn.pipe:own-session", async ({ peer }) => {
  const connection = await peer();
  const [pid, , , , group, session, terminal, foreground] = await statOf(connection);
  expect({ group, session, terminal, foreground }).toEqual({
    group: pid,
    session: pid,
    terminal: "0",
    foreground: "-1",
  });
  const script = shell("(: > /dev/tty) 2>/dev/null && echo terminal || echo none");
  expect(await outputOf(connection, "tty", script)).toBe("none\n");
});

verifies("spawn.pipe:stdin-null", async ({ peer }) => {
  const connection = await peer();
  expect(await outputOf(connection, "p", ["readlink", "/proc/self/fd/0"])).toBe("/dev/null\n");
  expect((await run(connection, "q", ["cat"])).events.map((event) => event.kind)).toEqual([
    "exited",
    "closed",
  ]);
});

verifies("spawn.pipe:stdin-pipe", async ({ peer }) => {
  const connection = await peer();
  const overrides = { pipeStdin: true };
  expect(await outputOf(connection, "p", ["readlink", "/proc/self/fd/0"], overrides)).toMatch(
    /^pipe:\[\d+\]\n$/,
  );
  await connection.request("process/start", start("q", shell("cat; echo end of input"), overrides));
  await write(connection, "q", "line\n");
  await untilOutput(connection, "q", /line/);
  await run(connection, "pause", shell("sleep 0.1"));
  expect(await untilOutput(connection, "q", /./)).toBe("line\n");
});

verifies("spawn.pipe:output-pipes", async ({ peer }) => {
  const connection = await peer();
  const links = await outputOf(connection, "p", shell("readlink /proc/$$/fd/1 /proc/$$/fd/2"));
  expect(links).toMatch(/^pipe:\[\d+\]\npipe:\[\d+\]\n$/);
  expect(new Set(links.trim().split("\n")).size).toBe(2);
  const { stdout, stderr, exitCode } = await run(
    connection,
    "q",
    shell("echo x > /dev/stdout; echo y | tee /dev/stderr"),
  );
  expect({ exitCode, stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
    exitCode: 0,
    stdout: "x\ny\n",
    stderr: "y\n",
  });
});

verifies("spawn.pipe:environment", async ({ peer }) => {
  const output = await outputOf(await peer(), "p", ["/usr/bin/env"], { env: { A: "1" } });
  expect(output).toBe("A=1\n");
});

verifies("spawn:signals", async ({ peer }) => {
  const connection = await peer();
  for (const tty of [false, true]) {
    const status = await outputOf(connection, `tty ${tty}`, ["cat", "/proc/self/status"], { tty });
    const masks = [...status.matchAll(/^(SigBlk|SigIgn|SigCgt|SigPnd|ShdPnd):\s*(\w+)/gm)];
    expect(
      Object.fromEntries(masks.map(([, name, mask]) => [name, BigInt(`0x${mask}`) & ~LIBRARY_SIGNALS])),
    ).toEqual({ SigBlk: 0n, SigIgn: 0n, SigCgt: 0n, SigPnd: 0n, ShdPnd: 0n });
  }
});

verifies("spawn:descriptors", async ({ peer }) => {
  const connection = await peer();
  for (const overrides of [{}, { pipeStdin: true }, { tty: true }]) {
    // A second process of the same kind is alive: what it has open must not leak into the first.
    const id = JSON.stringify(overrides);
    await connection.request("process/start", start(`${id} other`, ["sleep", "60"], overrides));
    const output = await outputOf(connection, id, ["ls", "/proc/self/fd"], overrides);
    // 3 is the directory that `ls` reads.
    expect(output.trim().split(/\s+/)).toEqual(["0", "1", "2", "3"]);
  }
});

verifies("spawn:umask", async ({ peer, target }) => {
  const connection = await peer();
  const server = readFileSync(`/proc/${serverPid(target, connection)}/status`, "utf8");
  const umask = /^Umask:\s*(\d+)/m.exec(server)?.[1];
  for (const tty of [false, true]) {
    const status = await outputOf(connection, `tty ${tty}`, ["cat", "/proc/self/status"], { tty });
    expect(/^Umask:\s*(\d+)/m.exec(status)?.[1]).toBe(umask);
  }
});

verifies("spawn:limits", async ({ peer, target }) => {
  const connection = await peer();
  const server = readFileSync(`/proc/${serverPid(target, connection)}/limits`, "utf8");
  for (const tty of [false, true]) {
    const limits = await outputOf(connection, `tty ${tty}`, ["cat", "/proc/self/limits"], { tty });
    expect(limits.replaceAll("\r", "")).toBe(server);
  }
});

function serverPid(target: VerifyContext["target"], connection: RawPeer): number {
  const pid = target.server?.child.pid ?? connection.child?.pid;
  return pid ?? process.pid;
}

verifies("spawn:argv-exact", async ({ peer }) => {
  const argv = [
    "",
    "a b",
    "",
    "ü🦀",
    "line\nbreak\r",
    "*",
    "$HOME",
    "'\"\\`",
    "-n",
    "--",
    "\u0001\u007f",
    "",
  ];
  expect(await argvOf(await peer(), "p", argv)).toEqual(argv);
});

verifies("spawn:argv-large", async ({ peer }) => {
  const connection = await peer();
  const large = "0123456789".repeat(10_000);
  expect(await argvOf(connection, "p", [large])).toEqual([large]);
});

verifies("spawn:argv-many", async ({ peer }) => {
  const argv = Array.from({ length: 2000 }, (_, index) => `argument ${index}`);
  expect(await argvOf(await peer(), "p", argv)).toEqual(argv);
});

verifies("spawn:env-values", async ({ peer }) => {
  const connection = await peer();
  const env = {
    EMPTY: "",
    UNICODE: "ü🦀",
    LINES: "a\nb\n",
    EQUALS: "=a=b=",
    SPACES: "  x  ",
    ünicode: "name",
  };
  expect(environmentOf(await outputOf(connection, "p", ["/usr/bin/env", "-0"], { env }))).toEqual(env);
});

verifies("spawn:env-many", async ({ peer }) => {
  const connection = await peer();
  const env = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [`NAME_${index}`, `value ${index}`]),
  );
  expect(environmentOf(await outputOf(connection, "p", ["/usr/bin/env", "-0"], { env }))).toEqual(env);
});

function environmentOf(output: string): Record<string, string> {
  const entries = output.split("\0").slice(0, -1);
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
}

verifies("exit:status", async ({ peer }) => {
  const connection = await peer();
  for (const status of [0, 1, 7, 126, 127, 128, 255]) {
    expect((await run(connection, `p${status}`, shell(`exit ${status}`))).exitCode).toBe(status);
  }
});

verifies("exit:status-tty", async ({ peer }) => {
  const connection = await peer();
  for (const status of [0, 1, 7, 255]) {
    expect((await run(connection, `p${status}`, shell(`exit ${status}`), { tty: true })).exitCode).toBe(
      status,
    );
  }
});

const signals = { HUP: 1, INT: 2, QUIT: 3, ABRT: 6, KILL: 9, SEGV: 11, PIPE: 13, TERM: 15, 34: 34, 64: 64 };

async function deathsBySignal(peer: RawPeer, overrides: Record<string, unknown>) {
  const codes: Record<string, number | undefined> = {};
  for (const name of Object.keys(signals)) {
    codes[name] = (await run(peer, name, shell(`ulimit -c 0; kill -${name} $$`), overrides)).exitCode;
  }
  return codes;
}

const signalCodes = Object.fromEntries(Object.entries(signals).map(([name, number]) => [name, 128 + number]));

verifies("exit:signal", async ({ peer }) => {
  expect(await deathsBySignal(await peer(), {})).toEqual(signalCodes);
});

verifies("exit:signal-tty", async ({ peer }) => {
  expect(await deathsBySignal(await peer(), { tty: true })).toEqual(signalCodes);
});

verifies("exit:broken-pipe", async ({ peer }) => {
  const connection = await peer();
  // `yes` never ends on its own.
  const script = shell("(yes; echo $? >&2) | head -n 1");
  const { stdout, stderr, exitCode } = await run(connection, "p", script);
  expect({ exitCode, stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
    exitCode: 0,
    stdout: "y\n",
    stderr: "141\n",
  });
});

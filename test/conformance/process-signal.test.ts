import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { expect } from "vitest";
import {
  collect,
  isRunning,
  leaveChildBehind,
  run,
  shell,
  untilNumber,
  untilOutput,
  write,
} from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

/** The words that only this project's server knows, but for the first, and the signals that they stand for. */
const WORDS = {
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  kill: "SIGKILL",
  hangup: "SIGHUP",
  quit: "SIGQUIT",
  user1: "SIGUSR1",
  user2: "SIGUSR2",
  stop: "SIGSTOP",
  continue: "SIGCONT",
} as const;
const NAMES: string[] = [...Object.keys(WORDS), ...Object.values(WORDS)];

const quoted = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

function interrupt(peer: RawPeer, processId: string) {
  return peer.request("process/signal", { processId, signal: "interrupt" });
}

verifies("process.signal:interrupt", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("echo ready; exec sleep 60")));
  await untilOutput(connection, "p", /ready/);
  expect(await interrupt(connection, "p")).toEqual({});
  expect((await collect(connection, "p")).exitCode).toBe(130);
});

verifies("process.signal:handler", async ({ peer }) => {
  const connection = await peer();
  const script = shell("trap 'echo handled; exit 9' INT; echo ready; while :; do sleep 0.02; done");
  for (const tty of [false, true]) {
    const id = `tty ${tty}`;
    await connection.request("process/start", start(id, script, { tty }));
    await untilOutput(connection, id, /ready/);
    expect(await interrupt(connection, id)).toEqual({});
    const { exitCode, stdout, pty } = await collect(connection, id);
    const output = Buffer.concat([stdout, pty]).toString().replaceAll("\r", "");
    expect({ exitCode, output }).toEqual({ exitCode: 9, output: "ready\nhandled\n" });
  }
});

verifies("process.signal:group", async ({ peer }) => {
  const connection = await peer();
  const child = "trap 'echo child; exit 1' INT; echo ready; while :; do sleep 0.02; done";
  const script = shell(`trap 'echo parent; exit 9' INT; sh -c "${child}"; echo not reached`);
  await connection.request("process/start", start("p", script));
  await untilOutput(connection, "p", /ready/);
  await interrupt(connection, "p");
  const { exitCode, stdout } = await collect(connection, "p");
  expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 9, stdout: "ready\nchild\nparent\n" });
});

verifies("process.signal:repeatable", async ({ peer }) => {
  const connection = await peer();
  const script = shell(
    "n=0; trap 'n=$((n+1)); echo $n' INT; echo ready; while [ $n -lt 3 ]; do sleep 0.02; done; exit 0",
  );
  await connection.request("process/start", start("p", script));
  await untilOutput(connection, "p", /ready/);
  for (const count of [1, 2, 3]) {
    await interrupt(connection, "p");
    await untilOutput(connection, "p", new RegExp(`\\b${count}\n`));
  }
  expect((await collect(connection, "p")).exitCode).toBe(0);
});

verifies("process.signal:unknown-process", async ({ peer }) => {
  expect(await interrupt(await peer(), "nobody")).toEqual({});
});

verifies("process.signal:exited-process", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "closed", ["true"]);
  expect(await interrupt(connection, "closed")).toEqual({});
  const pid = await leaveChildBehind(connection, "p");
  expect(await interrupt(connection, "p")).toEqual({});
  process.kill(pid, "SIGUSR1");
  expect((await collect(connection, "p")).stdout.toString()).toBe(`${pid}\nSIGUSR1\n`);
});

verifies("process.signal:other-signals", async ({ peer, target }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("echo $$; exec sleep 60")));
  const pid = await untilNumber(connection, "p");
  const known = target.kind === "ours" ? `one of ${quoted(NAMES)}` : "`interrupt`";
  for (const signal of ["kill", "terminate", "Interrupt", "SIGINT", "SIGNOPE", ""]) {
    if (target.kind === "ours" && NAMES.includes(signal)) continue;
    await expectError(
      connection.request("process/signal", { processId: "p", signal }),
      -32602,
      `unknown variant \`${signal}\`, expected ${known}`,
    );
  }
  for (const signal of [2, null, true, []]) {
    await expectError(connection.request("process/signal", { processId: "p", signal }), -32602);
  }
  expect(isRunning(pid)).toBe(true);
});

verifies("process.signal:required-members", async ({ peer }) => {
  const connection = await peer();
  const missing = (member: string) => `missing field \`${member}\``;
  await expectError(connection.request("process/signal", { processId: "p" }), -32602, missing("signal"));
  await expectError(
    connection.request("process/signal", { signal: "interrupt" }),
    -32602,
    missing("processId"),
  );
});

verifies("process.signal:names", async ({ peer }) => {
  const connection = await peer();
  const deadly = Object.entries(WORDS).filter(([word]) => word !== "stop" && word !== "continue");
  for (const signal of deadly.flat()) {
    await connection.request("process/start", start(signal, ["sleep", "60"]));
    expect(await connection.request("process/signal", { processId: signal, signal })).toEqual({});
    const name = WORDS[signal as keyof typeof WORDS] ?? signal;
    expect((await collect(connection, signal)).exitCode).toBe(128 + constants.signals[name as "SIGINT"]);
  }
});

verifies("process.signal:stop", async ({ peer }) => {
  const connection = await peer();
  await connection.request(
    "process/start",
    start("p", shell("echo $$; read line; echo $line"), { pipeStdin: true }),
  );
  const pid = await untilNumber(connection, "p");
  const state = () => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
  await connection.request("process/signal", { processId: "p", signal: "stop" });
  await expect.poll(state, { interval: 5 }).toBe("T");
  await write(connection, "p", "go\n");
  await connection.request("process/signal", { processId: "p", signal: "SIGCONT" });
  expect((await collect(connection, "p")).stdout.toString()).toBe(`${pid}\ngo\n`);
});

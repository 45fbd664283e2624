import { userInfo } from "node:os";
import { expect } from "vitest";
import { collect, outputOf, run, shell, untilOutput, write } from "./process-events.ts";
import { start, verifies } from "./verifies.ts";

const tty = true;

verifies("terminal:size", async ({ peer }) => {
  expect(await outputOf(await peer(), "p", ["stty", "size"], { tty })).toBe("24 80\r\n");
});

verifies("terminal:controlling", async ({ peer }) => {
  const connection = await peer();
  const stat = await outputOf(connection, "p", ["cat", "/proc/self/stat"], { tty });
  const [pid, , , , group, session, terminal, foreground] = stat.split(" ");
  expect({ group, session, foreground }).toEqual({ group: pid, session: pid, foreground: pid });
  expect(terminal).not.toBe("0");
  expect(await outputOf(connection, "q", shell("echo to the terminal > /dev/tty"), { tty })).toBe(
    "to the terminal\r\n",
  );
});

verifies("terminal:descriptors", async ({ peer }) => {
  const connection = await peer();
  const script = shell("tty; readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; echo error >&2");
  const { events, pty } = await run(connection, "p", script, { tty });
  const [name, ...rest] = pty.toString().trimEnd().split("\r\n");
  expect(name).toMatch(/^\/dev\/pts\/\d+$/);
  expect(rest).toEqual([name, name, name, "error"]);
  const streams = events.filter((event) => event.kind === "output").map((event) => event.stream);
  expect(new Set(streams)).toEqual(new Set(["pty"]));
});

verifies("terminal:cooked", async ({ peer }) => {
  const modes = await outputOf(await peer(), "p", ["stty", "-a"], { tty });
  const words = modes.split(/[\s;]+/);
  for (const mode of [
    "icanon",
    "isig",
    "iexten",
    "echo",
    "echoe",
    "icrnl",
    "opost",
    "onlcr",
    "ixon",
    "cs8",
  ]) {
    expect(words).toContain(mode);
  }
  expect(modes).toContain("intr = ^C;");
  expect(modes).toContain("eof = ^D;");
  expect(modes).toContain("susp = ^Z;");
  expect(modes.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
});

verifies("terminal:echo", async ({ peer }) => {
  const connection = await peer();
  const script = shell('echo ready; read line; echo "got $line"');
  await connection.request("process/start", start("p", script, { tty }));
  await untilOutput(connection, "p", /ready/);
  await write(connection, "p", "hel");
  await untilOutput(connection, "p", /hel/);
  await write(connection, "p", "lo\r");
  const { pty, exitCode } = await collect(connection, "p");
  expect({ exitCode, pty: pty.toString() }).toEqual({
    exitCode: 0,
    pty: "ready\r\nhello\r\ngot hello\r\n",
  });
});

verifies("terminal:interrupt-key", async ({ peer }) => {
  const connection = await peer();
  const script = shell("trap 'echo interrupted; exit 4' INT; echo ready; while :; do sleep 0.02; done");
  await connection.request("process/start", start("p", script, { tty }));
  await untilOutput(connection, "p", /ready/);
  await write(connection, "p", "\u0003");
  const { pty, exitCode } = await collect(connection, "p");
  expect({ exitCode, pty: pty.toString() }).toEqual({ exitCode: 4, pty: "ready\r\n^Cinterrupted\r\n" });
});

verifies("terminal:end-of-file-key", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["cat"], { tty }));
  await write(connection, "p", "line\n");
  await untilOutput(connection, "p", /line\r\nline\r\n/);
  await write(connection, "p", "\u0004");
  const { pty, exitCode } = await collect(connection, "p");
  expect({ exitCode, pty: pty.toString() }).toEqual({ exitCode: 0, pty: "line\r\nline\r\n" });
});

verifies("terminal:job-control", async ({ peer }) => {
  const connection = await peer();
  const env = { PATH: "/usr/bin:/bin", PS1: "prompt> " };
  await connection.request("process/start", start("p", ["/bin/sh", "-i"], { tty, env }));
  await untilOutput(connection, "p", /prompt> $/);
  await write(connection, "p", "cat\n");
  await write(connection, "p", "ping\n");
  // Once echoed by the terminal, once by `cat`, which therefore has the foreground.
  await untilOutput(connection, "p", /ping\r\nping\r\n/);
  await write(connection, "p", "\u001a");
  await untilOutput(connection, "p", /Stopped[^]*prompt> $/);
  await write(connection, "p", "fg\n");
  await untilOutput(connection, "p", /fg\r\ncat\r\n/);
  await write(connection, "p", "pong\n");
  await untilOutput(connection, "p", /pong\r\npong\r\n/);
  await write(connection, "p", "\u0004");
  await untilOutput(connection, "p", /pong\r\n[^]*prompt> $/);
  await write(connection, "p", "exit 5\n");
  const { pty, exitCode } = await collect(connection, "p");
  expect(exitCode).toBe(5);
  expect(pty.toString()).not.toMatch(/job control|can't access tty/);
});

verifies("terminal:raw", async ({ peer }) => {
  const connection = await peer();
  const script = shell("stty raw -echo; printf ready; head -c 256 | od -An -v -tx1 | tr -d ' \\n'");
  await connection.request("process/start", start("p", script, { tty }));
  await untilOutput(connection, "p", /ready/);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
  await write(connection, "p", bytes);
  expect((await collect(connection, "p")).pty.toString()).toBe(`ready${bytes.toString("hex")}`);
});

verifies("terminal:environment", async ({ peer, target }) => {
  const account = userInfo().shell ?? "";
  const refusesLogins = /\/(?:nologin|false)$/.test(account);
  const shell = refusesLogins && target.kind !== "codex" ? "/bin/sh" : account;
  const output = await outputOf(await peer(), "p", ["/usr/bin/env"], { tty, env: { A: "1" } });
  expect(output.trimEnd().split("\r\n").sort()).toEqual(["A=1", `SHELL=${shell}`]);
});

verifies("terminal:shell-kept", async ({ peer }) => {
  const output = await outputOf(await peer(), "p", ["/usr/bin/env"], { tty, env: { SHELL: "/my/shell" } });
  expect(output).toBe("SHELL=/my/shell\r\n");
});

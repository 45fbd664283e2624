import { expect } from "vitest";
import { collect, run, shell, untilOutput, write } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;

function resize(peer: RawPeer, processId: string, rows: number, cols: number) {
  return peer.request("process/resize", { processId, rows, cols });
}

function closeStdin(peer: RawPeer, processId: string) {
  return peer.request("process/closeStdin", { processId });
}

verifies("process.start:terminal-size", async ({ peer }) => {
  const connection = await peer();
  const sized = { tty: true, terminalSize: { rows: 50, cols: 132 } };
  expect((await run(connection, "sized", ["stty", "size"], sized)).pty.toString()).toBe("50 132\r\n");
  expect((await run(connection, "usual", ["stty", "size"], { tty: true })).pty.toString()).toBe("24 80\r\n");
  await expectError(
    connection.request("process/start", start("p", ["true"], { terminalSize: { rows: 0, cols: 1 } })),
    -32602,
  );
});

verifies("process.resize:applies", async ({ peer }) => {
  const connection = await peer();
  const script = shell("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.02; done");
  await connection.request("process/start", start("p", script, { tty: true }));
  await untilOutput(connection, "p", /ready/);
  expect(await resize(connection, "p", 7, 300)).toEqual({});
  expect((await collect(connection, "p")).pty.toString()).toBe("ready\r\n7 300\r\n");
});

verifies("process.resize:refuses", async ({ peer }) => {
  const connection = await peer();
  await expectError(resize(connection, "nobody", 1, 1), -32600, "unknown process id nobody");
  await connection.request("process/start", start("pipes", ["sleep", "60"]));
  await expectError(resize(connection, "pipes", 1, 1), -32600, "process pipes has no terminal");
  await run(connection, "ended", ["true"], { tty: true });
  expect(await resize(connection, "ended", 1, 1)).toEqual({});
  for (const [rows, cols] of [
    [0, 1],
    [1, 65_536],
    [1.5, 1],
  ] as const)
    await expectError(resize(connection, "ended", rows, cols), -32602);
});

verifies("process.closeStdin:pipe", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("sleep 0.1; cat"), { pipeStdin: true }));
  const bytes = Buffer.alloc(MEBIBYTE - 1, "input ");
  const [written, closed] = await Promise.all([write(connection, "p", bytes), closeStdin(connection, "p")]);
  expect({ written, closed }).toEqual({ written: { status: "accepted" }, closed: {} });
  const { stdout, exitCode } = await collect(connection, "p");
  expect({ exitCode, same: stdout.equals(bytes) }).toEqual({ exitCode: 0, same: true });
});

verifies("process.closeStdin:terminal", async ({ peer }) => {
  const connection = await peer();
  const script = shell("stty -echo; echo ready; cat; echo end");
  for (const [id, input, output] of [
    ["nothing", "", "end\r\n"],
    ["a line", "line\n", "line\r\nend\r\n"],
    ["half a line", "half", "halfend\r\n"],
  ] as const) {
    await connection.request("process/start", start(id, script, { tty: true }));
    await untilOutput(connection, id, /ready/);
    await write(connection, id, input);
    expect(await closeStdin(connection, id)).toEqual({});
    expect((await collect(connection, id)).pty.toString()).toBe(`ready\r\n${output}`);
  }
});

verifies("process.closeStdin:repeated", async ({ peer }) => {
  const connection = await peer();
  const tell = { processId: "p", chunk: "eAo=" };
  await connection.request("process/start", start("p", shell("cat; sleep 60"), { pipeStdin: true }));
  await connection.request("process/write", { ...tell, writeId: "before" });
  await closeStdin(connection, "p");
  expect(await closeStdin(connection, "p")).toEqual({});
  const retried = await connection.request("process/write", { ...tell, writeId: "before" });
  const late = await connection.request("process/write", { ...tell, writeId: "after" });
  expect({ retried, late }).toEqual({ retried: { status: "accepted" }, late: { status: "stdinClosed" } });
  expect(await untilOutput(connection, "p", /x/)).toBe("x\n");
  await connection.request("process/start", start("no stdin", ["sleep", "60"]));
  expect(await closeStdin(connection, "no stdin")).toEqual({});
  await run(connection, "ended", ["true"], { pipeStdin: true });
  expect(await closeStdin(connection, "ended")).toEqual({});
});

verifies("process.closeStdin:unknown", async ({ peer }) => {
  await expectError(closeStdin(await peer(), "nobody"), -32600, "unknown process id nobody");
});

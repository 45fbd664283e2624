import { once } from "node:events";
import { expect } from "vitest";
import { expectMalformed } from "./malformed.ts";
import type { RawPeer } from "./raw-peer.ts";
import { fromBase64, start, verifies } from "./verifies.ts";

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const EXIT_TIMEOUT_MS = 15_000;

function childOf(peer: RawPeer) {
  const { child } = peer;
  if (child?.stdin == null) throw new TypeError("not a stdio peer");
  return { child, stdin: child.stdin };
}

/** The exit status of the server; the caller makes it end. */
async function exitStatus(peer: RawPeer, act: () => void): Promise<unknown> {
  const exit = once(childOf(peer).child, "exit", { signal: AbortSignal.timeout(EXIT_TIMEOUT_MS) });
  act();
  return (await exit)[0];
}

const status = (id: number) => `{"id":${id},"method":"environment/status"}`;
const ready = (id: number) => ({ id, result: { status: "ready" } });

function requestOfBytes(bytes: number): Buffer {
  const request = Buffer.alloc(bytes, "a");
  request.write('{"id":1,"method":"environment/status","x":"');
  request.write('"}', bytes - 2);
  return request;
}

verifies("stdio:crlf", async ({ peer }) => {
  const connection = await peer();
  childOf(connection).stdin.write(`${status(1)}\r\n${status(2)}\r\n`);
  expect(await connection.next()).toEqual(ready(1));
  expect(await connection.next()).toEqual(ready(2));
});

verifies("stdio:blank-lines", async ({ peer }) => {
  const connection = await peer();
  const before = connection.rawMessages.length;
  childOf(connection).stdin.write(`\n   \n\t\r\n\r\n \t \n${status(1)}\n\n`);
  expect(await connection.next()).toEqual(ready(1));
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
  expect(connection.rawMessages.slice(before)).toHaveLength(2);
});

verifies("stdio:chunks", async ({ peer, transport }) => {
  const connection = await peer();
  const { stdin } = childOf(connection);
  const line = Buffer.from('{"id":"é","method":"environment/status"}\n');
  for (const byte of line) {
    await new Promise<void>((resolve, reject) => {
      stdin.write(Buffer.from([byte]), (error) => (error == null ? resolve() : reject(error)));
    });
  }
  expect(await connection.next()).toEqual({ ...ready(0), id: "é" });
  stdin.write(`${status(1)}\n${status(2)}\n${status(3).slice(0, 12)}`);
  expect(await connection.next()).toEqual(ready(1));
  expect(await connection.next()).toEqual(ready(2));
  stdin.write(`${status(3).slice(12)}\n`);
  expect(await connection.next()).toEqual(ready(3));
  // A carriage return ends no line.
  await expectMalformed(connection, transport, `${status(4)}\r${status(5)}`);
});

verifies("stdio:one-line-each", async ({ connect }) => {
  const connection = await connect();
  const { stdout } = childOf(connection).child;
  let text = "";
  stdout?.on("data", (chunk: string) => {
    text += chunk;
  });
  await connection.handshake();
  await connection.request("process/start", start("p", ["printf", "a\\nb\\r\\n"]));
  await connection.nextNotification("process/closed", "p");
  const lines = text.split("\n");
  expect(lines.pop()).toBe("");
  expect(lines).toEqual(connection.rawMessages);
  expect(lines.filter((line) => !line.startsWith("{") || !line.endsWith("}"))).toEqual([]);
});

verifies("stdio:line-limit", async ({ peer }) => {
  const connection = await peer();
  const { stdin } = childOf(connection);
  for (const terminator of ["\n", "\r\n"]) {
    stdin.write(requestOfBytes(MAX_LINE_BYTES));
    stdin.write(terminator);
    expect(await connection.next(undefined, 15_000)).toEqual(ready(1));
  }
});

verifies("stdio:line-over-limit", async ({ peer }) => {
  const connection = await peer();
  const before = connection.rawMessages.length;
  const { stdin } = childOf(connection);
  const code = await exitStatus(connection, () => {
    stdin.write(requestOfBytes(MAX_LINE_BYTES + 1));
    stdin.write("\n");
  });
  expect(code).toBe(0);
  expect(connection.rawMessages.slice(before)).toEqual([]);
});

verifies("stdio:invalid-utf8", async ({ peer }) => {
  const connection = await peer();
  const { stdin } = childOf(connection);
  stdin.write(Buffer.concat([Buffer.from(`${status(1)}\n{"id":2,"x":"`), Buffer.of(0xff, 0x22, 0x7d, 0x0a)]));
  expect(await connection.next()).toEqual(ready(1));
  expect(await connection.next()).toMatchObject({ id: -1, error: { code: -32600 } });
  stdin.write(`${status(3)}\n`);
  expect(await connection.next()).toEqual(ready(3));
});

verifies("stdio.eof:exit", async ({ peer }) => {
  const connection = await peer();
  await connection.request("environment/status");
  expect(await exitStatus(connection, () => connection.close())).toBe(0);
});

verifies("stdio.eof:before-handshake", async ({ connect }) => {
  const connection = await connect();
  expect(await exitStatus(connection, () => connection.close())).toBe(0);
});

verifies("stdio.eof:kills", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sh", "-c", "echo $$; exec sleep 300"]));
  const { params } = await connection.nextNotification("process/output", "p");
  const pid = Number(fromBase64(params.chunk));
  expect(() => process.kill(pid, 0)).not.toThrow();
  expect(await exitStatus(connection, () => connection.close())).toBe(0);
  await expect.poll(() => isAlive(pid), { interval: 20 }).toBe(false);
});

verifies("stdio.eof:while-waiting", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "300"]));
  const began = Date.now();
  const read = connection.request("process/read", { processId: "p", waitMs: 20_000 }, { timeoutMs: 15_000 });
  const lost = expect(read).rejects.toThrow(/ended/);
  expect(await exitStatus(connection, () => connection.close())).toBe(0);
  await lost;
  expect(Date.now() - began).toBeLessThan(EXIT_TIMEOUT_MS);
});

verifies("stdio:violation-exit", async ({ peer }) => {
  const connection = await peer();
  expect(await exitStatus(connection, () => connection.notify("foo"))).toBe(0);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

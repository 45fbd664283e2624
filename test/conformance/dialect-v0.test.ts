import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { expectClosed, expectMalformed } from "./malformed.ts";
import { isRunning, outputOf, shell, untilGone, untilNumber, withFiles } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { SERVER_PATH } from "./server-process.ts";
import { base64, expectError, fromBase64, start, verifies } from "./verifies.ts";

/** More than the buffers of a connection hold. */
const SLOW_BYTES = 32 * 1024 * 1024;

const METHODS = {
  "command/exec": exec(["true"]),
  "command/exec/write": { sessionId: "session-1", chunk: "" },
  "command/exec/terminate": { sessionId: "session-1" },
};

function exec(argv: readonly string[], overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { argv, cwd: "/", env: { PATH: SERVER_PATH }, tty: false, arg0: null, ...overrides };
}

function eventsOf(peer: RawPeer, sessionId: string) {
  return peer.notifications.filter(
    ({ method, params }) => method?.startsWith("command/") && params.sessionId === sessionId,
  );
}

function outputSoFar(peer: RawPeer, sessionId: string, stream?: string): string {
  return eventsOf(peer, sessionId)
    .filter(
      ({ method, params }) => method === "command/exec/outputDelta" && (params.stream === stream || !stream),
    )
    .map(({ params }) => fromBase64(params.chunk))
    .join("");
}

async function untilOutput(peer: RawPeer, sessionId: string, pattern: RegExp): Promise<string> {
  for (;;) {
    const text = outputSoFar(peer, sessionId);
    if (pattern.test(text)) return text;
    await peer.next(
      ({ method, params }) => method === "command/exec/outputDelta" && params.sessionId === sessionId,
      10_000,
      `output of ${sessionId} that matches ${pattern}; so far ${JSON.stringify(text.slice(-200))}`,
    );
  }
}

async function untilExited(peer: RawPeer, sessionId: string): Promise<number> {
  const { params } = await peer.next(
    ({ method, params }) => method === "command/exec/exited" && params.sessionId === sessionId,
    50_000,
    `exit of ${sessionId}`,
  );
  return params.exitCode;
}

verifies("v0.initialize:version", async ({ connect }) => {
  const connection = await connect();
  const result = await connection.request("initialize", { clientName: "test" });
  expect(Object.keys(result).toSorted()).toEqual(["environmentInfo", "protocolVersion", "sessionId"]);
  expect(result.protocolVersion).toBe("exec-server.v0");
});

verifies("v0.gate:before-initialize", async ({ connect }) => {
  const connection = await connect();
  for (const [method, params] of Object.entries(METHODS)) {
    const message = "client must call initialize before using exec methods";
    await expectError(connection.request(method, params), -32600, message);
  }
});

verifies("v0.gate:before-initialized", async ({ connect }) => {
  const connection = await connect();
  await connection.request("initialize", { clientName: "test" });
  for (const [method, params] of Object.entries(METHODS)) {
    const message = "client must send initialized before using exec methods";
    await expectError(connection.request(method, params), -32600, message);
  }
  const again = connection.request("initialize", { clientName: "test" });
  await expectError(again, -32600, "initialize may only be sent once per connection");
});

verifies("v0.connection:stays-open", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, "not-json");
  await expectError(connection.request("command/unknown", {}), -32601);
  expect(await connection.request("command/exec", exec(["true"]))).toEqual({ sessionId: "session-1" });
});

verifies("v0.connection:closes", async ({ connect, peer }) => {
  const early = await connect();
  early.notify("initialized", {});
  await expectClosed(early);
  const notifying = await peer();
  notifying.notify("process/outputDelta", {});
  await expectClosed(notifying);
  const answering = await peer();
  answering.sendText('{"id":6,"result":{}}');
  await expectClosed(answering);
});

verifies("v0.exec:ids", async ({ peer }) => {
  const connection = await peer();
  const first = exec(["sleep", "60"], { sessionId: "mine" });
  expect(await connection.request("command/exec", first)).toEqual({ sessionId: "session-1" });
  expect(await connection.request("command/exec", exec(["true"]))).toEqual({ sessionId: "session-2" });
  await untilExited(connection, "session-2");
  expect(await connection.request("command/exec", exec(["true"]))).toEqual({ sessionId: "session-3" });
  const other = await peer();
  expect(await other.request("command/exec", exec(["true"]))).toEqual({ sessionId: "session-1" });
});

verifies("v0.exec:params", async ({ peer }) => {
  const connection = await peer();
  const { arg0: _, ...required } = exec(["true"]);
  const refused = connection.request("command/exec", { sessionId: "proc-1" });
  await expectError(refused, -32602, "missing field `argv`");
  for (const member of Object.keys(required)) {
    const { [member]: __, ...rest } = required;
    await expectError(connection.request("command/exec", rest), -32602, `missing field \`${member}\``);
  }
  await expectError(connection.request("command/exec", exec([])), -32602, "argv must not be empty");
  const relative = connection.request("command/exec", exec(["true"], { cwd: "tmp" }));
  await expectError(relative, -32602, "invalid URI: relative URL without a base");
  expect(await connection.request("command/exec", required)).toEqual({ sessionId: "session-1" });
});

verifies("v0.exec:failure", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("command/exec", exec(["/nowhere/program"])), -32603);
  await expectError(connection.request("command/exec", exec(["true"], { cwd: "/nowhere" })), -32603);
  await expectError(connection.request("command/exec", exec(["/nowhere"], { tty: true })), -32603);
  expect(await connection.request("command/exec", exec(["true"]))).toEqual({ sessionId: "session-4" });
  await untilExited(connection, "session-4");
  expect(connection.notifications.filter(({ params }) => params.sessionId !== "session-4")).toEqual([]);
});

verifies("v0.exec:events", async ({ peer }) => {
  const connection = await peer();
  await connection.request("command/exec", exec(shell("printf out; printf err >&2; exit 7")));
  expect(await untilExited(connection, "session-1")).toBe(7);
  await untilOutput(connection, "session-1", /out/);
  await untilOutput(connection, "session-1", /err/);
  // Whatever else was to come is there before the answer to a later request about a later process.
  await connection.request("command/exec", exec(["true"]));
  await untilExited(connection, "session-2");
  const events = eventsOf(connection, "session-1").toSorted((a, b) =>
    `${a.method} ${a.params.stream}` < `${b.method} ${b.params.stream}` ? -1 : 1,
  );
  const sessionId = "session-1";
  expect(events).toEqual([
    { method: "command/exec/exited", params: { sessionId, exitCode: 7 } },
    { method: "command/exec/outputDelta", params: { sessionId, stream: "stderr", chunk: base64("err") } },
    { method: "command/exec/outputDelta", params: { sessionId, stream: "stdout", chunk: base64("out") } },
  ]);
  expect(connection.notifications.filter(({ method }) => method?.startsWith("process/"))).toEqual([]);
});

verifies("v0.exec:start-state", async ({ peer }) => {
  await withFiles({}, async ({ path }) => {
    const connection = await peer();
    await connection.request("command/exec", exec(["/bin/pwd", "-P"], { cwd: path }));
    await connection.request("command/exec", exec(["/usr/bin/env"], { env: { ONLY: "this" } }));
    const named = exec(["/bin/sh", "-c", "echo $0"], { arg0: "renamed" });
    await connection.request("command/exec", named);
    await Promise.all(["session-1", "session-2", "session-3"].map((id) => untilExited(connection, id)));
    expect(await untilOutput(connection, "session-1", /\n/)).toBe(`${path}\n`);
    expect(await untilOutput(connection, "session-2", /\n/)).toBe("ONLY=this\n");
    expect(await untilOutput(connection, "session-3", /\n/)).toBe("renamed\n");
  });
});

verifies("v0.exec:terminal", async ({ peer }) => {
  const connection = await peer();
  const script = "printf 'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' \"$line\"; done";
  const { sessionId } = await connection.request("command/exec", exec(shell(script), { tty: true }));
  await untilOutput(connection, sessionId, /ready/);
  const write = { sessionId, chunk: base64("hello\n") };
  expect(await connection.request("command/exec/write", write)).toEqual({ accepted: true });
  await untilOutput(connection, sessionId, /echo:hello/);
  expect(outputSoFar(connection, sessionId, "stdout")).toContain("echo:hello");
  expect(outputSoFar(connection, sessionId, "stderr")).toBe("");
  expect(await connection.request("command/exec/terminate", { sessionId })).toEqual({ running: true });
  expect(await untilExited(connection, sessionId)).toBe(137);
});

verifies("v0.exec:bulk", async ({ peer }) => {
  const connection = await peer();
  await connection.request("command/exec", exec(shell("seq 1 1200000 | head -c 8388608")));
  expect(await untilExited(connection, "session-1")).toBe(0);
  const expected = execFileSync("/bin/sh", ["-c", "seq 1 1200000 | head -c 8388608"], {
    maxBuffer: 16 * 1024 * 1024,
  });
  while (outputSoFar(connection, "session-1").length < expected.length)
    await connection.next(({ method }) => method === "command/exec/outputDelta", 10_000, "the rest");
  expect(outputSoFar(connection, "session-1") === expected.toString()).toBe(true);
});

verifies("v0.exec:slow-reader", async ({ peer }) => {
  await withFiles({}, async ({ path }) => {
    execFileSync("mkfifo", [join(path, "go")]);
    const [slow, other] = [await peer(), await peer()];
    const script = `read line < go; head -c ${SLOW_BYTES} /dev/zero; touch done`;
    await slow.request("command/exec", exec(shell(script), { cwd: path }));
    slow.webSocket?.pause();
    writeFileSync(join(path, "go"), "\n");
    // The same amount for a client that reads: enough time for all of it, if nothing made it wait.
    await other.request("command/exec", exec(shell(`head -c ${SLOW_BYTES} /dev/zero`)));
    expect(await untilExited(other, "session-1")).toBe(0);
    expect(existsSync(join(path, "done"))).toBe(false);
    slow.webSocket?.resume();
    expect(await untilExited(slow, "session-1")).toBe(0);
    const lengths = () => eventsOf(slow, "session-1").map(({ params }) => params.chunk?.length ?? 0);
    while (lengths().reduce((sum, length) => sum + Math.floor((length * 3) / 4), 0) < SLOW_BYTES)
      await slow.next(({ method }) => method === "command/exec/outputDelta", 50_000, "the rest");
  });
});

verifies("v0.exec:late-output", async ({ peer }) => {
  await withFiles({}, async ({ path }) => {
    execFileSync("mkfifo", [join(path, "go")]);
    const connection = await peer();
    const script = "{ read line < go; echo late; } & exit 3";
    await connection.request("command/exec", exec(shell(script), { cwd: path }));
    expect(await untilExited(connection, "session-1")).toBe(3);
    expect(outputSoFar(connection, "session-1")).toBe("");
    writeFileSync(join(path, "go"), "\n");
    expect(await untilOutput(connection, "session-1", /\n/)).toBe("late\n");
  });
});

verifies("v0.write:pipe", async ({ peer }) => {
  const connection = await peer();
  await connection.request("command/exec", exec(["sleep", "60"]));
  const refused = connection.request("command/exec/write", { sessionId: "session-1", chunk: base64("hi") });
  await expectError(refused, -32600, "stdin is closed for session session-1");
});

verifies("v0.write:unknown", async ({ peer }) => {
  const connection = await peer();
  const missing = connection.request("command/exec/write", { sessionId: "missing", chunk: base64("hi") });
  await expectError(missing, -32600, "unknown session id missing");
  await connection.request("command/exec", exec(["true"], { tty: true }));
  await untilExited(connection, "session-1");
  const gone = connection.request("command/exec/write", { sessionId: "session-1", chunk: base64("hi") });
  await expectError(gone, -32600, "unknown session id session-1");
});

verifies("v0.write:bad-base64", async ({ peer }) => {
  const connection = await peer();
  const refused = connection.request("command/exec/write", { sessionId: "missing", chunk: "****" });
  await expectError(refused, -32602, "Invalid symbol 42, offset 0.");
});

verifies("v0.write:pipelined", async ({ peer }) => {
  const connection = await peer();
  const answers = await Promise.all([
    connection.request("command/exec", exec(["cat"], { tty: true })),
    connection.request("command/exec/write", { sessionId: "session-1", chunk: base64("hello\n") }),
  ]);
  expect(answers).toEqual([{ sessionId: "session-1" }, { accepted: true }]);
  await untilOutput(connection, "session-1", /hello/);
});

verifies("v0.terminate:running", async ({ peer }) => {
  const connection = await peer();
  const { sessionId } = await connection.request("command/exec", exec(["sleep", "60"]));
  const before = connection.rawMessages.length;
  expect(await connection.request("command/exec/terminate", { sessionId })).toEqual({ running: true });
  expect(await untilExited(connection, sessionId)).toBe(137);
  const order = connection.rawMessages
    .slice(before)
    .map((text) => (/"method"/.test(text) ? "exit" : "answer"));
  expect(order).toEqual(["answer", "exit"]);
  expect(await connection.request("command/exec/terminate", { sessionId })).toEqual({ running: false });
});

verifies("v0.terminate:unknown", async ({ peer }) => {
  const connection = await peer();
  const answer = await connection.request("command/exec/terminate", { sessionId: "missing" });
  expect(answer).toEqual({ running: false });
});

verifies("v0.disconnect:kills", async ({ peer }) => {
  const connection = await peer();
  const script = shell("echo $$; exec sleep 600");
  await connection.request("process/start", start("stays", script));
  const stays = await untilNumber(connection, "stays");
  await connection.request("command/exec", exec(script));
  const leaves = Number.parseInt(await untilOutput(connection, "session-1", /\n/), 10);
  connection.drop();
  await untilGone(leaves);
  expect(isRunning(stays)).toBe(true);
});

verifies("v0.disconnect:stdio", async ({ peer }) => {
  const connection = await peer();
  await connection.request("command/exec", exec(shell("echo $$; exec sleep 600")));
  const pid = Number.parseInt(await untilOutput(connection, "session-1", /\n/), 10);
  connection.close();
  await untilGone(pid);
});

verifies("v0:beside-processes", async ({ peer }) => {
  const connection = await peer();
  await connection.request("command/exec", exec(["cat"], { tty: true }));
  expect(await outputOf(connection, "session-1", ["echo", "today"])).toBe("today\n");
  await expectError(
    connection.request("process/read", { processId: "session-2" }),
    -32600,
    "unknown process id session-2",
  );
  await connection.request("process/start", start("p", ["sleep", "60"]));
  const other = await connection.request("command/exec/terminate", { sessionId: "p" });
  expect(other).toEqual({ running: false });
  await connection.request("command/exec/write", { sessionId: "session-1", chunk: base64("still\n") });
  await untilOutput(connection, "session-1", /still/);
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProtocolError, UsageError } from "../../src/base/errors.ts";
import type { Host } from "../../src/client/host/host.ts";
import { createExecTools } from "../../src/client/tools/index.ts";
import { startServer } from "../fault/server-under-test.ts";
import { type ClientTarget, clientTargets } from "./client-targets.ts";
import { inTime, open } from "./fake-hosts.ts";
import { FakeServer, Refusal, unanswered } from "./fake-server.ts";
import { connect } from "./served.ts";

// What no server can parse is refused before it is sent, and a request that a server could not parse harms no other.

const LONE = "a\ud800b";

describe.each(clientTargets)("on $name", ({ name, start }) => {
  let target: ClientTarget;
  let host: Host;
  const states: string[] = [];

  beforeAll(async () => {
    target = await start();
    host = await target.connect();
    host.onStateChange((state) => states.push(state));
  });

  afterAll(async () => {
    expect((await host.run(["/bin/echo", "still here"])).stdout).toBe("still here\n");
    expect(states).toEqual([]);
    await host.close();
    await target.stop();
  });

  test.each<[string, () => Promise<unknown>]>([
    ["argv", () => host.run(["/bin/echo", LONE])],
    ["a low half in argv", () => host.run(["/bin/echo", "\udfff"])],
    ["a value in env", () => host.run(["/bin/echo"], { env: { A: LONE } })],
    ["a name in env", () => host.run(["/bin/echo"], { env: { [LONE]: "a" } })],
    ["cwd", () => host.run(["/bin/echo"], { cwd: `/${LONE}` })],
    ["arg0", () => host.run(["/bin/echo"], { arg0: LONE })],
    ["a command line", () => host.terminal(["/bin/sh", "-c", LONE])],
    ["a path that is read", () => host.files.read(`/${LONE}`)],
    ["a path that is written", () => host.files.write(`/${LONE}`, "x")],
  ])("half a surrogate pair in %s is the caller's mistake", async (_, act) => {
    const acting = inTime(act(), "the refusal");
    await expect(acting).rejects.toBeInstanceOf(UsageError);
    await expect(acting).rejects.toThrow("half of a surrogate pair");
  });

  test.each<[string, () => Promise<unknown>]>([
    ["argv", () => host.run(["/bin/echo", "a\0b"])],
    ["a value in env", () => host.run(["/bin/echo"], { env: { A: "a\0b" } })],
    ["a name in env", () => host.run(["/bin/echo"], { env: { "a\0b": "a" } })],
    ["cwd", () => host.run(["/bin/echo"], { cwd: "/a\0b" })],
    ["arg0", () => host.run(["/bin/echo"], { arg0: "a\0b" })],
    ["a path", () => host.files.read("/a\0b")],
  ])("a NUL in %s is the caller's mistake", async (_, act) => {
    const acting = inTime(act(), "the refusal");
    await expect(acting).rejects.toBeInstanceOf(UsageError);
    await expect(acting).rejects.toThrow("contains a NUL");
  });

  test("a pair, and text that looks like an escape, are passed on", async () => {
    const text = "\u{1f600} \\ud800 \\\\ud800 \\\\\\udfff";
    expect((await host.run(["/usr/bin/printf", "%s", text])).stdout).toBe(text);
  });

  test("half a surrogate pair in a model's command comes back to the model", async () => {
    await using tools = createExecTools(host);
    for (const args of [{ cmd: LONE }, { argv: ["/bin/echo", LONE] }, { cmd: "true", env: { A: LONE } }]) {
      const { isError, text } = await inTime(tools.call("exec_command", args), "the refusal");
      expect(text).toContain("half of a surrogate pair");
      expect(isError).toBe(true);
    }
  });

  // A server in the same program gets no message, and its system refuses both.
  const refusal = name === "our server in this program" ? Error : UsageError;

  test("300 000 arguments are refused", async () => {
    const argv = ["/bin/echo", ...Array.from({ length: 300_000 }, () => "x")];
    await expect(inTime(host.run(argv), "the refusal")).rejects.toBeInstanceOf(refusal);
  });

  test("an argument of 70 MB is refused", async () => {
    const running = host.run(["/bin/echo", "x".repeat(70_000_000)]);
    await expect(inTime(running, "the refusal")).rejects.toBeInstanceOf(refusal);
  });
});

test.each<[string, unknown]>([
  ["half a pair deep inside", { a: [{ b: "\udc00" }] }],
  ["half a pair in a name", { "\ud800": 1 }],
  ["half a pair after an escaped backslash", "\\\ud800"],
  ["more values than the wire takes", Array.from({ length: 262_141 }, () => 0)],
  ["more bytes than the wire takes", "€".repeat(22_400_000)],
  ["a BigInt", 1n],
  ["a cycle", cycle()],
  ["a nesting that the platform cannot spell", nested(200_000)],
])("%s is not sent", async (_, params) => {
  const server = new FakeServer();
  const host = await open(server);
  const asked = inTime(host.request("environment/info", params as never), "the refusal");
  await expect(asked).rejects.toBeInstanceOf(UsageError);
  await inTime(host.request("environment/status", {}), "an answer");
  expect(server.connections).toHaveLength(1);
  expect(server.connections[0]!.requests.map(({ method }) => method)).toEqual([
    "initialize",
    "environment/status",
  ]);
});

test.each<[string, unknown]>([
  ["as many values as the wire takes", Array.from({ length: 262_140 }, () => 0)],
  ["as many bytes as the wire takes", "€".repeat(22_369_600)],
])("%s are sent", async (_, params) => {
  const server = new FakeServer();
  const host = await open(server);
  await inTime(host.request("environment/info", params as never), "the answer");
});

function cycle(): unknown {
  const self: Record<string, unknown> = {};
  self["self"] = self;
  return self;
}

function nested(depth: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

const malformed = { id: -1, error: { code: -32600, message: "failed to parse: recursion limit exceeded" } };

test("the one request that a server could not read gets that error, and the connection stays", async () => {
  const server = new FakeServer();
  server.answers.set("fs/readFile", () => unanswered);
  const host = await open(server);
  const asked = host.request("fs/readFile", { path: "file:///x" });
  const [connection] = server.connections;
  await connection!.request("fs/readFile");
  connection!.send(malformed);
  await expect(inTime(asked, "the refusal")).rejects.toBeInstanceOf(ProtocolError);
  await expect(asked).rejects.toThrow("recursion limit exceeded");
  await inTime(host.request("environment/info", {}), "an answer");
  expect(server.attempts).toBe(1);
});

test("of several requests the one that stays unanswered is reported, and only that", async () => {
  const server = new FakeServer();
  server.answers.set("fs/readFile", () => unanswered);
  const host = await open(server);
  const [connection] = server.connections;
  const asked = ["a", "b", "c"].map((name) => host.request("fs/readFile", { path: `file:///${name}` }));
  for (const call of asked) call.catch(() => {});
  const [first, , third] = await Promise.all([1, 2, 3].map((nth) => connection!.request("fs/readFile", nth)));
  connection!.answer(first!, { dataBase64: "" });
  connection!.send(malformed);
  connection!.answer(third!, new Refusal(-32004, "not there"));
  expect(await inTime(asked[0]!, "the first")).toEqual({ dataBase64: "" });
  await expect(inTime(asked[1]!, "the second")).rejects.toBeInstanceOf(ProtocolError);
  await expect(inTime(asked[2]!, "the third")).rejects.toMatchObject({ rpcCode: -32004 });
  await inTime(host.request("environment/info", {}), "an answer");
  expect(server.attempts).toBe(1);
});

test("requests of which none is answered all fail soon; what is answered late does no harm", async () => {
  const server = new FakeServer();
  server.answers.set("fs/readFile", () => unanswered);
  const host = await open(server);
  const [connection] = server.connections;
  const asked = ["a", "b"].map((name) => host.request("fs/readFile", { path: `file:///${name}` }));
  for (const call of asked) call.catch(() => {});
  const second = await connection!.request("fs/readFile", 2);
  connection!.send(malformed);
  for (const call of asked) await expect(inTime(call, "a refusal")).rejects.toBeInstanceOf(ProtocolError);
  connection!.answer(second, { dataBase64: "" });
  await inTime(host.request("environment/info", {}), "an answer");
  expect(server.attempts).toBe(1);
});

test("a handshake that a server could not read fails with its reason", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", (_, connection) => {
    connection.send(malformed);
    return unanswered;
  });
  await expect(inTime(connect(server.open), "the refusal")).rejects.toBeInstanceOf(ProtocolError);
});

test("a message too long for this server is reported to its sender alone, with the server's words", async () => {
  await using server = await startServer({ args: ["--max-message-bytes", "1048576"] });
  const host = await connect(server.url);
  try {
    const reading = host.files.read("/etc/hostname");
    const writing = host.files.write("/var/tmp/never-written", new Uint8Array(2_000_000));
    await expect(inTime(writing, "the refusal")).rejects.toMatchObject({
      code: "PROTOCOL_ERROR",
      message: expect.stringContaining("maxMessageBytes is 1048576") as string,
    });
    await inTime(reading, "the file");
    expect((await inTime(host.run(["/bin/echo", "on"]), "a run")).stdout).toBe("on\n");
  } finally {
    await host.close();
  }
});

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { awaitMarked, awaitNoneLeft, killMarked } from "../fault/marked-processes.ts";
import { McpHttpScene, type RawAnswer, type RawHttpUser } from "./mcp-http-scene.ts";

const scene = new McpHttpScene();
const marker = `mcp-http-attacked-${process.pid}-${Date.now()}`;
const MARK = { FAULT_MARKER: marker };
const SLEEP = { cmd: "sleep 300 & exec sleep 300", login: false, env: MARK };
const MEBIBYTE = 1024 * 1024;

beforeAll(() => scene.serve());
afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  killMarked(marker);
});

let user: RawHttpUser;
beforeEach(async () => {
  user = scene.raw();
  await user.initialize();
});

const lives = async (): Promise<void> => {
  expect(await user.call("exec_command", { argv: ["echo", "on"] })).toMatchObject({
    status: 200,
    message: { result: { structuredContent: { output: "on\n" } } },
  });
};

/** What arrives on a socket of its own, until it ends. */
async function over(write: (socket: Socket) => void | Promise<void>): Promise<string> {
  const socket = connect(scene.server.port, "127.0.0.1");
  socket.on("error", () => {});
  let heard = "";
  socket.on("data", (bytes: Buffer) => (heard += bytes.toString()));
  await once(socket, "connect");
  await write(socket);
  await once(socket, "close");
  return heard;
}

const head = (more: string, secret = scene.secrets.full): string =>
  `POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${secret}\r\n` +
  `content-type: application/json\r\naccept: application/json, text/event-stream\r\n${more}\r\n`;

describe("messages", () => {
  it("of 100 MB are refused, and the session lives", async () => {
    const content = "x".repeat(100 * MEBIBYTE);
    const long = await user.call("write_file", { path: "long", content });
    expect(long).toMatchObject({
      status: 413,
      message: { error: { message: expect.stringContaining("longer than 8388608 bytes") } },
    });
    await lives();
    const most = await user.call("write_file", { path: "most", content: content.slice(0, 7 * MEBIBYTE) });
    expect(most).toMatchObject({
      status: 200,
      message: { result: { structuredContent: { created: true } } },
    });
  });

  it("of 100 MB are refused on a connection that lives", async () => {
    const length = 100 * MEBIBYTE;
    const heard = await over(async (socket) => {
      socket.write(head(`content-length: ${length}\r\n`));
      const piece = Buffer.alloc(MEBIBYTE, 0x78);
      for (let sent = 0; sent < length; sent += piece.length)
        if (!socket.write(piece)) await once(socket, "drain");
      const next = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      socket.write(head(`connection: close\r\nmcp-session-id: none\r\ncontent-length: ${next.length}\r\n`));
      socket.write(next);
    });
    expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 413", "HTTP/1.1 404"]);
  });

  it.each([
    ["not JSON", "hello", 400],
    ["not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), 400],
    ["empty", "", 400],
    ["nested a million times", "[".repeat(MEBIBYTE), 400],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400],
    ["null", "null", 400],
    ["a number", "7", 400],
    ["not a message", '{"method":7}', 400],
    ["an answer to nothing", '{"jsonrpc":"2.0","id":1,"result":{}}', 202],
    ["an unknown notification", '{"jsonrpc":"2.0","method":"notifications/none"}', 202],
    ["a cancellation without params", '{"jsonrpc":"2.0","method":"notifications/cancelled"}', 202],
  ])("that are %s are answered, and the session lives", async (_, body, expected) => {
    expect((await user.send(body)).status).toBe(expected);
    await lives();
  });

  it("of the wrong type, or for nobody, are refused", async () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const statuses = [
      { "content-type": "text/plain" },
      { "content-type": null },
      { accept: "text/html" },
      { "mcp-session-id": "none" },
      { "mcp-session-id": null },
      { "mcp-protocol-version": "1999-01-01" },
    ].map(async (headers) => (await user.send(JSON.stringify(ping), { headers })).status);
    expect(await Promise.all(statuses)).toEqual([415, 415, 406, 404, 400, 400]);
    for (const method of ["PUT", "PATCH", "HEAD"]) expect((await user.open({ method })).status).toBe(405);
    expect((await user.open({ method: "GET", headers: { "mcp-session-id": null } })).status).toBe(405);
    await lives();
  });

  it("byte by byte are read, and without an end they are not waited for", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const heard = await over(async (socket) => {
      socket.setNoDelay(true);
      const more = `connection: close\r\nmcp-session-id: ${user.session}\r\ntransfer-encoding: chunked\r\n`;
      socket.write(head(more));
      for (const byte of body) {
        socket.write(`1\r\n${byte}\r\n`);
        await delay(1);
      }
      socket.write("0\r\n\r\n");
    });
    expect(heard).toContain('"result":{}');
  });

  it("that many send at once and never end leave room for those that end", async () => {
    const sockets = Array.from({ length: 12 }, () => connect(scene.server.port, "127.0.0.1"));
    for (const socket of sockets) {
      socket.on("error", () => {});
      socket.write(
        head(`mcp-session-id: ${user.session}\r\ncontent-length: ${7 * MEBIBYTE}\r\n`, scene.secrets.other),
      );
      socket.write(Buffer.alloc(6 * MEBIBYTE, 0x20));
    }
    await delay(500);
    const other = scene.raw("full");
    await other.initialize();
    const content = "x".repeat(5 * MEBIBYTE);
    expect(await other.call("write_file", { path: "room", content })).toMatchObject({ status: 200 });
    for (const socket of sockets) socket.destroy();
    await lives();
  });
});

describe("a call", () => {
  it("that is cancelled leaves no process, and its stream ends", async () => {
    const call = user.call("exec_command", SLEEP, { id: "mine" });
    await awaitMarked(marker, 2);
    expect((await user.notify("notifications/cancelled", { requestId: "mine" })).status).toBe(202);
    expect((await call).text).not.toContain("data:");
    await awaitNoneLeft(marker);
    // Its id can be used again.
    const again = await user.call("exec_command", { argv: ["echo", "on"] }, { id: "mine" });
    expect(again.message).toMatchObject({ id: "mine", result: { structuredContent: { output: "on\n" } } });
  });

  it("is not cancelled by others, or by the wrong id", async () => {
    const call = user.call("exec_command", { ...SLEEP, yield_time_ms: 2_000 }, { id: 77 });
    await awaitMarked(marker, 2);
    const neighbour = scene.raw();
    await neighbour.initialize();
    for (const [from, requestId] of [
      [neighbour, 77],
      [user, "77"],
      [user, 78],
      [user, {}],
    ] as const)
      await from.notify("notifications/cancelled", { requestId });
    expect(await call).toMatchObject({
      message: { result: { structuredContent: { running: true } } },
    });
    await user.open({ method: "DELETE" });
    await awaitNoneLeft(marker);
  });

  it("of two clients with one session and one id is answered to the first, and refused to the second", async () => {
    const second = scene.raw();
    second.session = user.session;
    const cmd = "while [ ! -e go ]; do sleep 0.05; done; echo first";
    const first = user.call(
      "exec_command",
      { cmd, login: false, env: MARK, yield_time_ms: 30_000 },
      { id: 9 },
    );
    await awaitMarked(marker, 1);
    expect((await second.call("exec_command", { argv: ["echo", "second"] }, { id: 9 })).status).toBe(400);
    await second.call("write_file", { path: "go", content: "" }, { id: 10 });
    expect((await first).message).toMatchObject({
      id: 9,
      result: { structuredContent: { output: "first\n" } },
    });
  });

  it("whose client hangs up goes on without it, if its protocol has sessions", async () => {
    const hanging = new AbortController();
    const call = user.call("exec_command", { ...SLEEP, yield_time_ms: 30_000 }, { signal: hanging.signal });
    call.catch(() => {});
    await awaitMarked(marker, 2);
    hanging.abort();
    await expect(call).rejects.toThrow();
    const { message } = await user.call("list_processes", {});
    expect(message.result).toMatchObject({ structuredContent: { processes: [{ running: true }] } });
    await user.open({ method: "DELETE" });
    await awaitNoneLeft(marker);
  });

  it("beyond the 64th at once is refused, and every one is answered", async () => {
    const answers: RawAnswer[] = [];
    const calls = Array.from({ length: 70 }, async () => {
      answers.push(await user.call("wait_for", { path: ".", timeout_ms: 50_000 }));
    });
    await pollUntil(
      () => answers.length >= 6,
      60_000,
      () => "6 refusals",
    );
    await pollUntil(
      () => {
        writeFileSync(join(scene.root, "changed"), String(answers.length));
        return answers.length === 70;
      },
      60_000,
      () => `70 answers, now ${answers.length}`,
    );
    await Promise.all(calls);
    expect(answers.filter(({ message }) => message.result?.["isError"] === true)).toHaveLength(6);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it("after the session's end is refused, and a call that ran then has ended", async () => {
    const call = user.call("exec_command", { ...SLEEP, yield_time_ms: 30_000 });
    await awaitMarked(marker, 2);
    expect((await user.open({ method: "DELETE" })).status).toBe(200);
    await awaitNoneLeft(marker);
    await call.catch(() => {});
    expect((await user.call("list_processes", {})).status).toBe(404);
    expect((await user.open({ method: "DELETE" })).status).toBe(404);
  });
});

describe("sessions and streams", () => {
  it("a session has one stream of its own", async () => {
    const stream = await user.open({ method: "GET" });
    expect((await user.open({ method: "GET" })).status).toBe(409);
    await stream.body?.cancel();
    await pollUntil(
      async () => {
        const next = await user.open({ method: "GET" });
        await next.body?.cancel();
        return next.status === 200;
      },
      20_000,
      () => "another stream",
    );
  });

  it("thousands that begin and are left do not lock their token out", async () => {
    for (let round = 0; round < 20; round += 1)
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const { status } = await scene.raw("other").initialize();
          expect(status).toBe(200);
        }),
      );
    await lives();
  });

  it("initialize again in the same session is refused, and the session lives", async () => {
    const again = await user.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    expect(again.status).toBe(400);
    await lives();
  });

  it("initialize with nonsense begins nothing that stays", async () => {
    const stranger = scene.raw();
    const answer = await stranger.request("initialize", { protocolVersion: 7 });
    expect(answer.message.error).toBeDefined();
    await lives();
  });
});

it("a stranger's 100 MB are not waited for", async () => {
  const heard = await over((socket) => {
    socket.write(
      head("connection: close\r\ncontent-length: 104857600\r\n", "wrong-token-wrong-token-wrong-token"),
    );
    socket.write(Buffer.alloc(MEBIBYTE));
  });
  expect(heard).toContain("HTTP/1.1 401");
  await lives();
});

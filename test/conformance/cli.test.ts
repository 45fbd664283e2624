import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { freePort } from "../fixtures/free-port.ts";
import { expectClosed } from "./malformed.ts";
import { openStdioPeer, openWebSocketPeer } from "./raw-peer.ts";
import type { ServerProcess } from "./server-process.ts";
import { type VerifyContext, verifies } from "./verifies.ts";

const EXIT_TIMEOUT_MS = 20_000;
/** After this long without a message a server is idle: it waits for input. */
const IDLE_MS = 250;

async function exitOf(server: ServerProcess): Promise<number | null> {
  const deadline = new AbortController();
  const late = setTimeout(EXIT_TIMEOUT_MS, undefined, deadline).then(() => {
    throw new Error(`the server still runs after ${EXIT_TIMEOUT_MS} ms`);
  });
  late.catch(() => {});
  try {
    return (await Promise.race([server.exited, late])).code;
  } finally {
    deadline.abort();
  }
}

/** Runs the command line to its end. */
async function run(launch: VerifyContext["launch"], args: readonly string[]) {
  const server = await launch(args);
  const code = await exitOf(server);
  return { code, stdout: server.stdout, stderr: server.stderr };
}

/** A server that has served a client: the URL alone does not promise that signals are caught. */
async function launchServing(launch: VerifyContext["launch"]): Promise<ServerProcess> {
  const server = await launch([]);
  const peer = await openWebSocketPeer(await server.banner());
  await peer.handshake();
  await peer.request("environment/status");
  peer.drop();
  return server;
}

verifies("cli.banner:console", async ({ launch }) => {
  const server = await launch([]);
  const url = await server.banner();
  server.child.kill("SIGTERM");
  await exitOf(server);
  expect(server.stdout).toBe(`${url}\n`);
  expect(server.stderr).toMatch(
    /^Console: http:\/\/127\.0\.0\.1:[1-9]\d*\/#link=\S{43} \(this link works once\)\n$/,
  );
});

verifies("cli.banner:url", async ({ launch, target }) => {
  const flags = target.kind === "ours" ? ["--no-console"] : [];
  const server = await launch(["--listen", "ws://127.0.0.1:0", ...flags]);
  const url = await server.banner();
  expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:[1-9]\d*$/);
  const peer = await openWebSocketPeer(url);
  await peer.handshake();
  server.child.kill("SIGTERM");
  await exitOf(server);
  expect({ stdout: server.stdout, stderr: server.stderr }).toEqual({ stdout: `${url}\n`, stderr: "" });
});

verifies("cli.banner:ipv6", async ({ launch }) => {
  const server = await launch(["--listen", "ws://[::1]:0"]);
  const url = await server.banner();
  expect(url).toMatch(/^ws:\/\/\[::1\]:[1-9]\d*$/);
  const peer = await openWebSocketPeer(url);
  await peer.handshake();
  peer.sendText("junk");
  const { error } = await peer.next((message) => message.id === -1);
  expect(error?.message).toMatch(/ from exec-server websocket \[::1\]:\d+: /);
  peer.drop();
});

verifies("cli.listen:default", async ({ launch }) => {
  const server = await launch([]);
  expect(await server.banner()).toMatch(/^ws:\/\/127\.0\.0\.1:[1-9]\d*$/);
});

verifies("cli.listen:port", async ({ launch }) => {
  const port = await freePort();
  const server = await launch(["--listen", `ws://127.0.0.1:${port}`]);
  expect(await server.banner()).toBe(`ws://127.0.0.1:${port}`);
});

verifies("cli.listen:equals", async ({ launch }) => {
  const server = await launch(["--listen=ws://127.0.0.1:0"]);
  expect(await server.banner()).toMatch(/^ws:\/\/127\.0\.0\.1:[1-9]\d*$/);
});

verifies("cli.listen:stdio-url", async ({ launch }) => {
  const server = await launch(["--listen", "stdio://"], { keepStdout: false });
  const peer = openStdioPeer(server.child);
  await peer.handshake();
  expect(await peer.request("environment/status")).toEqual({ status: "ready" });
  peer.close();
  expect(await exitOf(server)).toBe(0);
  expect(server.stderr).toBe("");
});

verifies("cli.listen:stdio-flag", async ({ launch }) => {
  const server = await launch(["--stdio"], { keepStdout: false });
  const peer = openStdioPeer(server.child);
  await peer.handshake();
  peer.close();
  expect(await exitOf(server)).toBe(0);
  const { code, stderr } = await run(launch, ["--stdio", "--listen", "stdio"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: the argument '--stdio' cannot be used with '--listen <URL>'\n/);
});

verifies("cli.listen:unsupported", async ({ launch }) => {
  const urls = [
    "http://127.0.0.1:0",
    "wsss://127.0.0.1:0",
    "WS://127.0.0.1:0",
    "ws:127.0.0.1:0",
    "tcp://x",
    "unix://tmp/x",
    "",
    "stdio:/",
    "stdio://x",
    "STDIO",
    " stdio",
  ];
  await Promise.all(
    urls.map(async (url) => {
      expect(await run(launch, ["--listen", url])).toEqual({
        code: 1,
        stdout: "",
        stderr: `Error: unsupported --listen URL \`${url}\`; expected \`ws://IP:PORT\` or \`stdio\`\n`,
      });
    }),
  );
});

verifies("cli.listen:invalid", async ({ launch }) => {
  const urls = [
    "ws://",
    "ws://localhost:1",
    "ws://127.0.0.1",
    "ws://:0",
    "ws://127.0.0.1:0/",
    "ws://127.0.0.1:0/x",
    "ws://127.0.0.1:0?x",
    "ws://0.0.0.0:0x",
    "ws://127.0.0.1:65536",
    "ws://127.0.0.1:-1",
    "ws://127.0.0.1:+0",
    "ws://256.0.0.1:0",
    "ws://127.1:0",
    "ws:// 127.0.0.1:0",
    "ws://[::1]",
  ];
  await Promise.all(
    urls.map(async (url) => {
      expect(await run(launch, ["--listen", url])).toEqual({
        code: 1,
        stdout: "",
        stderr: `Error: invalid websocket --listen URL \`${url}\`; expected \`ws://IP:PORT\`\n`,
      });
    }),
  );
});

verifies("cli.listen:in-use", async ({ launch, target }) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  try {
    const url = `ws://127.0.0.1:${(taken.address() as AddressInfo).port}`;
    const named = target.kind === "ours" ? `cannot listen on ${url}: ` : "";
    expect(await run(launch, ["--listen", url])).toEqual({
      code: 1,
      stdout: "",
      stderr: `Error: ${named}Address in use (os error 98)\n`,
    });
  } finally {
    taken.close();
  }
});

verifies("cli.listen:not-local", async ({ launch }) => {
  // 192.0.2.0/24 is kept for documentation (RFC 5737): no machine has it.
  const { code, stdout, stderr } = await run(launch, ["--listen", "ws://192.0.2.1:0"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^Error: /);
});

verifies("cli.listen:twice", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--listen", "stdio", "--listen", "stdio"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^error: the argument '--listen <URL>' cannot be used multiple times\n/);
});

verifies("cli.listen:no-value", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--listen"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^error: a value is required for '--listen <URL>' but none was supplied\n/);
});

verifies("cli.listen:non-loopback", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--listen", "ws://0.0.0.0:0"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^Error: .*auth/);
});

verifies("cli.concurrent-requests:zero", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--concurrent-requests", "0"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr.split("\n")[0]).toBe(
    "error: invalid value '0' for '--concurrent-requests <COUNT>': number would be zero for non-zero type",
  );
});

verifies("cli.concurrent-requests:not-a-count", async ({ launch }) => {
  for (const value of ["x", "1.5", ""]) {
    const { code, stdout, stderr } = await run(launch, ["--concurrent-requests", value]);
    expect({ value, code, stdout }).toEqual({ value, code: 2, stdout: "" });
    expect(stderr).toMatch(/^error: .*--concurrent-requests/);
  }
});

verifies("cli:unknown-option", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--bogus"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^error: unexpected argument '--bogus' found\n/);
});

verifies("cli:remote-and-listen", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--remote", "http://127.0.0.1:1", "--listen", "stdio"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr.split("\n")[0]).toBe(
    "error: the argument '--remote <URL>' cannot be used with '--listen <URL>'",
  );
});

verifies("cli:help", async ({ launch }) => {
  const { code, stdout, stderr } = await run(launch, ["--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/--listen/);
});

verifies("cli.signal:sigterm", async ({ launch }) => {
  const server = await launchServing(launch);
  server.child.kill("SIGTERM");
  expect(await exitOf(server)).toBe(0);
});

verifies("cli.signal:sigint", async ({ launch }) => {
  const server = await launchServing(launch);
  server.child.kill("SIGINT");
  expect(await exitOf(server)).toBe(0);
});

verifies("cli.signal:connections", async ({ launch }) => {
  const server = await launch([]);
  const url = await server.banner();
  const peer = await openWebSocketPeer(url);
  await peer.handshake();
  server.child.kill("SIGTERM");
  await expectClosed(peer);
  expect(await exitOf(server)).toBe(0);
  await expect(openWebSocketPeer(url)).rejects.toThrow(/ECONNREFUSED/);
});

verifies("cli.signal:stdio", async ({ launch }) => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const server = await launch(["--listen", "stdio"], { keepStdout: false });
    const peer = openStdioPeer(server.child);
    await peer.handshake();
    // Codex waits for the end of stdin only once it reads it again, a moment after its answer.
    await setTimeout(IDLE_MS);
    server.child.kill(signal);
    expect(await exitOf(server), signal).toBe(0);
  }
});

import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UsageError } from "../../src/base/errors.ts";
import type { Host } from "../../src/client/host/host.ts";
import { SpawnError } from "../../src/client/process/spawn-error.ts";
import { createServer } from "../../src/server/index.ts";
import { launch } from "../conformance/server-process.ts";
import { withDeadline } from "../fault/deadline.ts";
import { clientTargets, usingTarget } from "./client-targets.ts";
import { connect } from "./served.ts";

// What errors say to a person who did not expect them, and to a program that did.

const DEADLINE_MS = 20_000;
const NO_SUCH_FILE = "No such file or directory (os error 2)";

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-errors-"));
  writeFileSync(join(directory, "plain"), "#!/bin/sh\n");
  writeFileSync(join(directory, "no-format"), "");
  chmodSync(join(directory, "no-format"), 0o755);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  withDeadline(
    promise.then(
      (value) => new Error(`no error, but ${JSON.stringify(value)}`),
      (error: unknown) => error,
    ),
    DEADLINE_MS,
    () => "an error",
  );

describe.each(clientTargets.filter(({ name }) => !name.includes("stdio")))("$name", ({ name, start }) => {
  const isOurs = name.startsWith("our");
  let host: Host;

  usingTarget(start, (connected) => (host = connected));

  async function theCallerOf(argv: readonly string[]): Promise<unknown> {
    return await host.start(argv, { cwd: directory });
  }

  test("a failed start names program and directory, and has the system's error and the caller's stack", async () => {
    const error = await errorOf(theCallerOf(["no-such-program"]));
    expect(error).toBeInstanceOf(SpawnError);
    expect(error).toMatchObject({
      code: "SPAWN_FAILED",
      program: "no-such-program",
      cwd: directory,
      errno: "ENOENT",
      rpcCode: -32603,
      cause: { message: NO_SUCH_FILE },
      // Codex's server says the same of a missing directory.
      reason: isOurs ? "notFound" : undefined,
    });
    const why = isOurs ? `the program was not found (${NO_SUCH_FILE})` : NO_SUCH_FILE;
    expect((error as Error).message).toBe(`cannot start no-such-program in ${directory}: ${why}`);
    expect((error as Error).stack).toContain("theCallerOf");
    const ran = await errorOf(host.run(["no-such-program"], { cwd: directory }));
    expect(ran).toMatchObject({ code: "SPAWN_FAILED", program: "no-such-program" });
  });

  test.each([
    ["a directory that does not exist", ["/bin/true"], "/nowhere", "noSuchDirectory", undefined],
    ["a directory that is a file", ["/bin/true"], "/etc/passwd", "noSuchDirectory", undefined],
    ["a file that is not executable", ["./plain"], undefined, "notExecutable", undefined],
    ["a program without a format", ["./no-format"], undefined, "notExecutable", "notExecutable"],
    ["arguments that are too long", ["/bin/true", "x".repeat(200_000)], undefined, "limit", "limit"],
  ])("the reason of a start with %s is told where it is certain", async (_, argv, cwd, ours, codex) => {
    const error = await errorOf(host.start(argv, { cwd: cwd ?? directory }));
    expect(error).toMatchObject({ code: "SPAWN_FAILED", reason: isOurs ? ours : codex });
  });

  test("a program that a terminal does not find has the same reason everywhere", async () => {
    const env = { PATH: directory };
    const plain = await errorOf(host.terminal(["plain"], { env }));
    expect(plain).toMatchObject({ code: "SPAWN_FAILED", reason: isOurs ? "notFound" : "notExecutable" });
    const missing = await errorOf(host.terminal(["no-such-program"], { env }));
    expect(missing).toMatchObject({ code: "SPAWN_FAILED", reason: "notFound" });
  });

  test("fetch distinguishes a refused connection from an unknown host", async () => {
    const closed = createTcpServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const refused = await errorOf(host.fetch(`http://127.0.0.1:${port}/`));
    const unknown = await errorOf(host.fetch("http://no-such-host.invalid/"));
    for (const failure of [refused, unknown]) expect(failure).toBeInstanceOf(TypeError);
    if (!isOurs) {
      expect(refused).toMatchObject({ cause: { code: "RPC_ERROR", rpcCode: -32603 } });
      return;
    }
    expect(refused).toMatchObject({ cause: { code: "CONNECTION_REFUSED", data: { errno: "ECONNREFUSED" } } });
    expect((refused as Error).message).toMatch(/^fetch failed: connection refused: /);
    expect(unknown).toMatchObject({ cause: { code: "UNKNOWN_HOST" } });
    expect((unknown as Error).message).toMatch(/^fetch failed: unknown host: /);
  });

  test("an HTTP request that takes too long has a code of its own, and a method that is not there too", async () => {
    const silent = createTcpServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const params = { method: "GET", url, requestId: "slow", headers: [], timeoutMs: 100 };
    try {
      const late = await errorOf(host.request("http/request", { ...params, streamResponse: false }));
      expect(late).toMatchObject({ code: isOurs ? "TIMED_OUT" : "RPC_ERROR", rpcCode: -32603 });
    } finally {
      silent.close();
    }
    const unknown = await errorOf(host.request("no/such/method" as "environment/info", {}));
    expect(unknown).toMatchObject({ code: "UNSUPPORTED", rpcCode: -32601 });
  });
});

describe.each(clientTargets.filter(({ resumable }) => resumable))("$name", ({ name, start }) => {
  const isOurs = name.startsWith("our");

  test("a process or a session that does not exist, and an id in use, have codes where the server reports them", async () => {
    const target = await start();
    const host = await target.connect();
    const process = { cwd: "file:///", env: {}, tty: false, pipeStdin: false, arg0: null };
    const request = { ...process, processId: "p", argv: ["sleep", "60"] };
    const missing = { code: isOurs ? "NOT_FOUND" : "RPC_ERROR", rpcCode: -32600 };
    try {
      await host.request("process/start", request);
      expect(await errorOf(host.adopt("nobody"))).toMatchObject(missing);
      const resumeSessionId = "00000000-0000-4000-8000-000000000000";
      const resumed = target.connect({ resumeSessionId, connectTimeoutMs: 10_000 });
      expect(await errorOf(resumed)).toMatchObject({ ...missing, message: "unknown session id …" });
      expect(await errorOf(host.request("process/start", request))).toMatchObject({
        code: isOurs ? "INVALID_INPUT" : "RPC_ERROR",
        rpcCode: -32600,
      });
      if (!isOurs) return;
      expect(await errorOf(host.attach(resumeSessionId, "p"))).toMatchObject(missing);
      const resize = host.request("process/resize", { processId: "p", cols: 80, rows: 24 });
      expect(await errorOf(resize)).toMatchObject({ code: "INVALID_INPUT", rpcCode: -32600 });
      const keyed = { ...request, processId: "q", idempotencyKey: "k" };
      await host.request("process/start", keyed);
      const other = host.request("process/start", { ...keyed, processId: "r", argv: ["sleep", "61"] });
      expect(await errorOf(other)).toMatchObject({
        code: "IDEMPOTENCY_CONFLICT",
        data: { code: "IDEMPOTENCY_CONFLICT", processId: "q" },
      });
    } finally {
      await host.close();
      await target.stop();
    }
  });
});

test("a start beyond the limits of the server has the reason limit and names the limit", async () => {
  const server = createServer({ limits: { maxProcesses: 1 } });
  const host = await connect(server);
  try {
    await host.start(["sleep", "60"]);
    expect(await errorOf(host.start(["sleep", "60"]))).toMatchObject({
      code: "LIMIT_REACHED",
      reason: "limit",
      rpcCode: -32011,
      data: { code: "LIMIT_REACHED", limit: "maxProcesses", value: 1 },
    });
  } finally {
    await host.close();
    await server.close();
  }
});

test("what the allowed roots forbid is PERMISSION_DENIED, and every file operation has a FileError", async () => {
  const server = createServer({ limits: { fsRoots: [directory] } });
  const host = await connect(server);
  const outside = "/etc/passwd";
  const missing = join(directory, "missing");
  try {
    const { files } = host;
    for (const refused of [
      files.read(outside),
      files.write(outside, "x"),
      files.chmod(directory, 0o777),
      files.symlink("x", "/etc/exec-server-test"),
      files.rename(join(directory, "plain"), "/etc/exec-server-test"),
      files.watch("/etc"),
      files.readStream(outside).next(),
    ])
      expect(await errorOf(refused)).toMatchObject({ name: "FileError", code: "PERMISSION_DENIED" });
    for (const operation of [files.read(missing), files.watch(missing), files.readLink(missing)])
      expect(await errorOf(operation)).toMatchObject({
        name: "FileError",
        code: "NOT_FOUND",
        errno: "ENOENT",
        path: missing,
      });
    symlinkSync(Buffer.from([0x61, 0xff]), join(directory, "odd"));
    expect(await errorOf(files.readLink(join(directory, "odd")))).toMatchObject({
      name: "FileError",
      code: "UNSUPPORTED",
    });
  } finally {
    await host.close();
    await server.close();
  }
});

test.each([
  ["an empty line", " ", /^the command line is empty$/],
  ["an empty list", [], /^argv is empty: it needs at least a program$/],
  ["nothing", undefined, /^a command is a line for the shell, or an array .*, not undefined$/],
  ["a number among the arguments", ["ls", 5], /^argv must be text, not number$/],
])("%s as argv is a UsageError, before anything is sent", async (_, argv, message) => {
  const server = createServer();
  const host = await connect(server);
  try {
    for (const start of [host.start.bind(host), host.run.bind(host), host.terminal.bind(host)]) {
      const error = await errorOf(start(argv as unknown as string[]));
      expect(error).toBeInstanceOf(UsageError);
      expect((error as Error).message).toMatch(message);
    }
  } finally {
    await host.close();
    await server.close();
  }
});

describe("a command that serves on stdio", () => {
  test.each([
    ["exits", "echo one >&2; echo last words >&2; exit 3", "exited with status 3"],
    [
      "closes its stdout first",
      "echo one >&2; echo last words >&2; exec >&-; exit 3",
      "exited with status 3",
    ],
    ["is killed", "echo one >&2; echo last words >&2; kill -KILL $$", "was ended by SIGKILL"],
  ])("and %s is an error with its end and its last words", async (_, script, how) => {
    const error = await errorOf(connect({ command: ["/bin/sh", "-c", script] }));
    expect(error).toMatchObject({ code: "CONNECTION_CLOSED" });
    // Whether `initialize` could still be written depends on the moment.
    const message = (error as Error).message.replace(
      "failed to write JSON-RPC message to /bin/sh: write EPIPE; ",
      "",
    );
    expect(message).toBe(
      `exec-server transport disconnected: /bin/sh ${how}; its last lines on stderr: one | last words`,
    );
  });

  test("quotes five lines of what it said, and 500 characters of each", async () => {
    const script = `i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo "line $i" >&2; done; printf %02000d 7 >&2; exit 1`;
    const { message } = (await errorOf(connect({ command: ["/bin/sh", "-c", script] }))) as Error;
    expect(message).toContain("line 17 | line 18 | line 19 | line 20 | 000");
    expect(message).not.toContain("line 16");
    expect(message.length).toBeLessThan(700);
  });

  test.each([
    ["a program", ["/no/such/server"], undefined, "notFound", "ENOENT"],
    ["a directory", ["/bin/sh"], "/no/such/directory", "noSuchDirectory", "ENOENT"],
  ] as const)("and needs %s that does not exist says so", async (_, command, cwd, reason, errno) => {
    const target = cwd === undefined ? { command } : { command, cwd };
    const error = await errorOf(connect(target));
    expect(error).toMatchObject({ name: "ConnectionError", code: "SPAWN_FAILED", reason, errno });
    expect((error as Error).message).toContain(cwd ?? command[0]);
  });

  test("does not hold up a host that is closed", async () => {
    const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
    const host = await connect({ command: [process.execPath, cli, "--listen", "stdio"] });
    await host.close();
    expect(await host.closed).toEqual({ reason: undefined, code: undefined });
  });
});

describe("a server that wants a token", () => {
  const TOKEN = "a-token-of-some-length-0123456789";

  test("takes one with a newline behind it, and refuses others with UNAUTHORIZED, which it logs without them", async () => {
    const file = join(directory, "token");
    writeFileSync(file, `${TOKEN}\n`);
    const server = await launch("ours", ["--ws-auth", "capability-token", "--ws-token-file", file]);
    try {
      const url = await server.banner();
      const host = await connect(url, { token: `${TOKEN}\n` });
      await host.close();
      const refused = await errorOf(connect(url, { token: "wrong-token" }));
      expect(refused).toMatchObject({ code: "UNAUTHORIZED", status: 401 });
      expect(await errorOf(connect(url))).toMatchObject({ code: "UNAUTHORIZED" });
    } finally {
      await server.stop();
    }
    const log = server.stderr;
    expect(log).toMatch(/a login was refused.*invalid websocket bearer token.*127\.0\.0\.1:\d+/);
    expect(log).toMatch(/a login was refused.*missing websocket bearer token/);
    expect(log).not.toContain("wrong-token");
    expect(log).not.toContain(TOKEN);
  });

  test.each(["", " \n", "two words", "ümlaut"])("a token like %j is the caller's mistake", async (token) => {
    const error = await errorOf(connect("ws://127.0.0.1:9", { token }));
    expect(error).toBeInstanceOf(UsageError);
    if (token.trim() !== "") expect((error as Error).message).not.toContain(token);
  });
});

import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { CommandLine } from "./command-line.ts";

const DEADLINE_MS = 60_000;
const MEBIBYTE = 1024 * 1024;

let line: CommandLine;
/** Sends back what it gets, and ends when the other side has ended. */
let echo: Server;
/** Sends as much as it can. */
let flood: Server;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  line = await CommandLine.start();
  echo = await listen((socket) => socket.pipe(socket));
  flood = await listen((socket) => {
    const more = (): void => {
      while (socket.write(zeros));
    };
    socket.on("drain", more);
    more();
  });
});

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  echo?.close();
  flood?.close();
  await line?.[Symbol.asyncDispose]();
});

const zeros = Buffer.alloc(64 * 1024);

async function listen(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    serve(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

interface Tunnel {
  readonly child: ChildProcess;
  /** Its first line. */
  readonly first: string;
  readonly port: number;
  readonly stderr: () => string;
}

function tunnelTo(port: number, where: CommandLine = line): Promise<Tunnel> {
  return tunnelWith([`0:localhost:${port}`], where);
}

/** Runs the command, and learns its port. */
async function tunnelWith(args: readonly string[], where: CommandLine = line): Promise<Tunnel> {
  const child = spawn("exec-server", ["tunnel", ...args], {
    env: where.environment,
    cwd: where.directory,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [first] = (await withDeadline(
    once(createInterface({ input: child.stdout }), "line"),
    DEADLINE_MS,
    () => `the tunnel: ${stderr}`,
  )) as [string];
  const [, local] =
    /^(?:127\.0\.0\.1:(\d+)|\/\S+)(?: on \S+)? -> (?:localhost:\d+|\/\S+|anywhere, as a SOCKS 5 proxy)$/.exec(
      first,
    ) ?? [];
  return { child, first, port: Number(local), stderr: () => stderr };
}

/** Of a tunnel, or to a Unix socket. */
function dial(to: { readonly port: number } | { readonly path: string }): Socket {
  if ("path" in to) return connect({ path: to.path, allowHalfOpen: true });
  return connect({ host: "127.0.0.1", port: to.port, allowHalfOpen: true });
}

async function roundTrip(to: Parameters<typeof dial>[0], data: Buffer): Promise<void> {
  const socket = dial(to);
  socket.end(data);
  const back = await withDeadline(buffer(socket), DEADLINE_MS, () => `${data.length} bytes to come back`);
  const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
  expect(hash(back)).toBe(hash(data));
}

/** Waits for a connection to be reset. */
async function cutOff(tunnel: Tunnel): Promise<void> {
  const socket = dial(tunnel).resume();
  const [error] = await withDeadline(once(socket, "error"), DEADLINE_MS, () => "a reset");
  expect(error).toMatchObject({ code: "ECONNRESET" });
}

/** What it says on stderr, as soon as that is a line. */
async function complaint({ stderr }: Tunnel): Promise<string> {
  return await pollUntil(
    () => stderr().endsWith("\n") && stderr(),
    DEADLINE_MS,
    () => "a line on stderr",
  );
}

test.concurrent("many connections at once lose no byte, and end each on its own side", async () => {
  const tunnel = await tunnelTo(portOf(echo));
  const sizes = [0, 1, 65_536, 300_000, 8 * MEBIBYTE, ...Array.from({ length: 45 }, (_, i) => i * 1_000)];
  await Promise.all(sizes.map((size) => roundTrip(tunnel, randomBytes(size))));
  expect(tunnel.stderr()).toBe("");
});

test.concurrent("a connection that is not read holds up no other", async () => {
  const tunnel = await tunnelTo(portOf(flood));
  const stalled = dial(tunnel);
  stalled.pause();
  await once(stalled, "connect");
  const other = dial(tunnel);
  let bytes = 0;
  for await (const chunk of other) {
    bytes += (chunk as Buffer).length;
    if (bytes > 16 * MEBIBYTE) break;
  }
  stalled.destroy();
});

test.concurrent("a port without a listener is one line, and the tunnel continues", async () => {
  const tunnel = await tunnelTo(1);
  await cutOff(tunnel);
  expect(await complaint(tunnel)).toMatch(
    /^exec-server: cannot connect to localhost:\d+: .*ECONNREFUSED.*\n$/,
  );
  await cutOff(tunnel);
});

test.concurrent("a reset on either side reaches the other", async () => {
  const arrived: Socket[] = [];
  const server = await listen((socket) => arrived.push(socket));
  const tunnel = await tunnelTo(portOf(server));
  const first = once(server, "connection");
  const near = cutOff(tunnel);
  await withDeadline(first, DEADLINE_MS, () => "the first connection");
  arrived[0]!.resetAndDestroy();
  await near;
  const second = dial(tunnel);
  await withDeadline(once(server, "connection"), DEADLINE_MS, () => "the second connection");
  const farEnd = once(arrived[1]!, "error");
  arrived[1]!.resume();
  second.resetAndDestroy();
  const [error] = await withDeadline(farEnd, DEADLINE_MS, () => "the end there");
  expect(error).toMatchObject({ code: "ECONNRESET" });
  server.close();
});

test.runIf(process.getuid?.() === 0)(
  "other users of the machine do not get through on loopback",
  async () => {
    const nobody = 65_534;
    const tunnel = await tunnelTo(portOf(echo));
    const script = 'exec 3<>"/dev/tcp/127.0.0.1/$0"; echo through >&3; timeout 20 head -1 <&3';
    const heardBy = async (user: number): Promise<string> => {
      const child = spawn("/bin/bash", ["-c", script, String(tunnel.port)], {
        uid: user,
        gid: user,
        cwd: "/",
        stdio: ["ignore", "pipe", "ignore"],
      });
      return (await withDeadline(buffer(child.stdout), DEADLINE_MS, () => `the end for ${user}`)).toString();
    };
    expect(await heardBy(nobody)).toBe("");
    expect(await complaint(tunnel)).toBe(
      "exec-server: refused a connection to the tunnel: on a loopback address only your own programs and root's may use it; listen on another address to serve everyone\n",
    );
    expect(await heardBy(0)).toBe("through\n");
    expect(await heardBy(nobody)).toBe("");
    // One line, however often they try.
    expect(tunnel.stderr().split("\n")).toHaveLength(2);
  },
);

/** Asks a SOCKS 5 proxy for a connection; resolves with its reply, without the greeting's. */
async function request(socket: Socket, host: string, port: number): Promise<number> {
  const name = Buffer.from(host);
  socket.write(Buffer.from([5, 1, 0]));
  socket.write(
    Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), name, Buffer.from([port >> 8, port & 255])]),
  );
  let answer = Buffer.alloc(0);
  await pollUntil(
    () => {
      answer = Buffer.concat([answer, (socket.read() as Buffer | null) ?? Buffer.alloc(0)]);
      return answer.length >= 12;
    },
    DEADLINE_MS,
    () => "the reply",
  );
  expect([...answer.subarray(0, 3)]).toEqual([5, 0, 5]);
  return answer[3]!;
}

test.concurrent("with -D, each client of a SOCKS 5 proxy goes where it wishes", async () => {
  const proxy = await tunnelWith(["-D", "0"]);
  const socket = dial(proxy);
  expect(await request(socket, "localhost", portOf(echo))).toBe(0);
  const data = randomBytes(300_000);
  socket.end(data);
  const back = await withDeadline(buffer(socket), DEADLINE_MS, () => "the bytes to come back");
  expect(back.equals(data)).toBe(true);
  const refused = dial(proxy);
  expect(await request(refused, "localhost", 1)).toBe(5);
  expect(await complaint(proxy)).toMatch(/^exec-server: cannot connect to localhost:1: .*ECONNREFUSED.*\n$/);
  const stranger = dial(proxy).resume();
  stranger.write("GET / HTTP/1.1\r\n\r\n");
  await withDeadline(once(stranger, "end"), DEADLINE_MS, () => "the end of what is not SOCKS");
});

test.concurrent("with -R, many connections arrive there and are made here, and lose no byte", async () => {
  const tunnel = await tunnelWith(["-R", `0:localhost:${portOf(echo)}`]);
  expect(tunnel.first).toMatch(/^127\.0\.0\.1:\d+ on ws:\S+ -> localhost:\d+$/);
  const sizes = [0, 1, 300_000, 4 * MEBIBYTE, ...Array.from({ length: 30 }, (_, i) => i * 1_000)];
  await Promise.all(sizes.map((size) => roundTrip(tunnel, randomBytes(size))));
  expect(tunnel.stderr()).toBe("");
});

test.concurrent("with -R, a target that refuses is one line, and the tunnel continues", async () => {
  const tunnel = await tunnelWith(["-R", "0:localhost:1"]);
  const socket = dial(tunnel).resume();
  await withDeadline(once(socket, "error"), DEADLINE_MS, () => "a reset");
  expect(await complaint(tunnel)).toMatch(
    /^exec-server: cannot connect to localhost:1 here: .*ECONNREFUSED.*\n$/,
  );
  await cutOff(tunnel);
});

test.concurrent("each side of a tunnel can be a Unix socket", async () => {
  const path = (name: string): string => join(line.directory, name);
  const behind = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
  behind.listen(path("behind.sock"));
  await once(behind, "listening");
  const data = randomBytes(300_000);
  for (const [args, to] of [
    [[`0:${path("behind.sock")}`], undefined],
    [[`${path("here.sock")}:localhost:${portOf(echo)}`], path("here.sock")],
    [["-R", `0:${path("behind.sock")}`], undefined],
    [["-R", `${path("there.sock")}:${path("behind.sock")}`], path("there.sock")],
  ] as const) {
    const tunnel = await tunnelWith(args);
    if (to !== undefined) expect(statSync(to).mode & 0o777).toBe(0o600);
    await roundTrip(to === undefined ? tunnel : { path: to }, data);
    tunnel.child.kill("SIGINT");
    await withDeadline(once(tunnel.child, "exit"), DEADLINE_MS, () => "the end of the tunnel");
    expect(tunnel.stderr()).toBe("");
    if (to !== undefined) expect(statSync(to, { throwIfNoEntry: false })).toBeUndefined();
  }
  behind.close();
});

test.concurrent("with -R, it listens again on the same port when a lost connection is back", async () => {
  const passing = new Set<Socket>();
  const proxy = await listen((socket) => {
    const onward = connect(Number(new URL(line.url).port), "127.0.0.1");
    for (const each of [socket, onward]) passing.add(each.on("error", () => {}));
    socket.pipe(onward).pipe(socket);
  });
  const url = `ws://127.0.0.1:${portOf(proxy)}`;
  const tunnel = await tunnelWith(["--url", url, "-R", `0:localhost:${portOf(echo)}`]);
  await roundTrip(tunnel, randomBytes(1_000));
  for (const socket of passing) socket.destroy();
  await pollUntil(
    () =>
      roundTrip(tunnel, randomBytes(1_000)).then(
        () => true,
        () => false,
      ),
    DEADLINE_MS,
    () => `the port to be back: ${tunnel.stderr()}`,
  );
  tunnel.child.kill("SIGKILL");
  proxy.close();
});

test.concurrent("it ends when it is interrupted", async () => {
  const { child } = await tunnelTo(portOf(echo));
  child.kill("SIGINT");
  const [status] = await withDeadline(once(child, "exit"), DEADLINE_MS, () => "the end of the tunnel");
  expect(status).toBe(0);
});

test.concurrent("mistakes are one line and the right status", async () => {
  const busy = portOf(echo);
  expect(await line.run("exec-server tunnel")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^exec-server: nothing to forward; .*\n$/),
  });
  expect(await line.run("exec-server tunnel -D 70000")).toMatchObject({ status: 2 });
  expect(await line.run("exec-server tunnel 80")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^exec-server: '80' is not a tunnel; write .*\n$/),
  });
  expect(await line.run(`exec-server tunnel ${busy}:localhost:1`)).toMatchObject({
    status: 1,
    stderr: `exec-server: cannot listen on 127.0.0.1:${busy}: another program uses that port; choose another one, or 0 to pick one\n`,
  });
  expect(await line.run(`exec-server tunnel -R ${busy}:localhost:1`)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /^exec-server: cannot listen on 127.0.0.1:\d+ on ws:\S+: another program uses that port; .*\n$/,
    ),
  });
  expect(await line.run("exec-server tunnel -R 80")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^exec-server: '80' is not a tunnel; write .*\n$/),
  });
  await writeFile(join(line.directory, "taken"), "");
  for (const args of [`${line.directory}/taken:localhost:1`, `-R ${line.directory}/taken:localhost:1`])
    expect(await line.run(`exec-server tunnel ${args}`)).toMatchObject({
      status: args.startsWith("-R") ? 1 : 2,
      stderr: expect.stringMatching(/^exec-server: cannot listen on \S+\/taken: .*exists.*\n$/),
    });
});

test.concurrent("a server whose sandbox has no network refuses", async () => {
  await using confined = await CommandLine.start(["--sandbox", "read-only"]);
  const tunnel = await tunnelTo(portOf(echo), confined);
  await cutOff(tunnel);
  expect(await complaint(tunnel)).toBe("exec-server: this server's sandbox allows no network\n");
  tunnel.child.kill("SIGKILL");
});

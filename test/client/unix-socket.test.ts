import { execFile } from "node:child_process";
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect as connectNet, createServer as createNetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { socketUrl } from "../../src/base/socket-url.ts";
import { connect } from "../../src/client/host/connect.ts";
import { type AuthenticationPolicy, serve } from "../../src/server/index.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";

const NOBODY = 65_534;
const run = promisify(execFile);
let directory: string;
const servers: ServerProcess[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "exec-server-unix-"));
});

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  await rm(directory, { recursive: true, force: true });
});

async function start(...args: string[]): Promise<ServerProcess> {
  const server = await launch("ours", args);
  servers.push(server);
  return server;
}

async function failureOf(path: string): Promise<string> {
  const server = await start("--listen", `unix://${path}`);
  const { code } = await server.exited;
  expect({ code, stdout: server.stdout }).toEqual({ code: 1, stdout: "" });
  return server.stderr;
}

async function expectServed(url: string, options = {}): Promise<void> {
  await using host = await connect(url, options);
  expect((await host.run(["echo", "served"])).stdout).toBe("served\n");
}

describe("--listen unix:///PATH", () => {
  it.each(["s.sock", "a b é:?#%41.sock"])(
    "serves on %s, which is there for its user alone, and goes with it",
    async (name) => {
      const path = join(directory, name);
      const server = await start(
        "--listen",
        `unix://${encodeURI(path).replaceAll("?", "%3F").replaceAll("#", "%23")}`,
      );
      const url = await server.banner();
      expect(url).toBe(socketUrl(path));
      const stats = await lstat(path);
      expect({ isSocket: stats.isSocket(), mode: stats.mode & 0o7777 }).toEqual({
        isSocket: true,
        mode: 0o600,
      });
      expect(await readdir(directory)).toEqual([name]);
      await expectServed(url);
      await server.stop();
      expect(server.stderr).toBe("");
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it("lets no other user in", async () => {
    await chmod(directory, 0o755);
    const path = join(directory, "s");
    const server = await start("--listen", `unix://${path}`);
    await server.banner();
    const program = `require("net").connect(${JSON.stringify(path)}).on("error", (e) => console.log(e.code)).on("connect", () => console.log("in"))`;
    const asNobody = await run(process.execPath, ["-e", program], { uid: NOBODY, gid: NOBODY, cwd: "/" });
    expect(asNobody.stdout.trim()).toBe("EACCES");
  });

  it("takes a token like every other address", async () => {
    const token = join(directory, "token");
    await writeFile(token, "a-token-that-is-long-enough-for-this");
    const server = await start(
      "--listen",
      `unix://${join(directory, "s")}`,
      "--ws-auth",
      "capability-token",
      "--ws-token-file",
      token,
    );
    const url = await server.banner();
    await expect(connect(url)).rejects.toMatchObject({ status: 401 });
    await expectServed(url, { token: "a-token-that-is-long-enough-for-this" });
  });

  it("takes the place of a socket that a killed server has left", async () => {
    const path = join(directory, "s");
    const first = await start("--listen", `unix://${path}`);
    await first.banner();
    await first.stop("SIGKILL");
    expect((await lstat(path)).isSocket()).toBe(true);
    const second = await start("--listen", `unix://${path}`);
    await expectServed(await second.banner());
  });

  it("leaves a server alone that listens there", async () => {
    const path = join(directory, "s");
    const first = await start("--listen", `unix://${path}`);
    const url = await first.banner();
    expect(await failureOf(path)).toBe(`Error: cannot listen on ${path}: another server listens there\n`);
    await expectServed(url);
    expect(await readdir(directory)).toEqual(["s"]);
  });

  it("removes no socket that another server has put in its place", async () => {
    const path = join(directory, "s");
    const server = await start("--listen", `unix://${path}`);
    await server.banner();
    await rm(path);
    const other = createNetServer();
    await new Promise<void>((resolve) => other.listen(path, resolve));
    await server.stop();
    expect((await lstat(path)).isSocket()).toBe(true);
    await new Promise((resolve) => other.close(resolve));
  });

  it("says why it cannot listen, and leaves what is there", async () => {
    const file = join(directory, "file");
    await writeFile(file, "text");
    const says = async (path: string, why: string): Promise<void> =>
      expect(await failureOf(path)).toBe(`Error: cannot listen on ${path}: ${why}\n`);
    await says(file, "it exists and is not a socket");
    await says(join(directory, "none/s"), `${join(directory, "none")} does not exist`);
    await says(join(file, "s"), `${file} is not a directory`);
    const long = join(directory, "n".repeat(120));
    await says(long, "it is longer than 107 bytes");
    const open = join(directory, "open");
    await mkdir(open);
    await chmod(open, 0o777);
    await says(join(open, "s"), `${open} can be written to by other users`);
    const theirs = join(directory, "theirs");
    await mkdir(theirs);
    await chown(theirs, NOBODY, NOBODY);
    await says(join(theirs, "s"), `${theirs} belongs to another user`);
    expect(await readFile(file, "utf8")).toBe("text");
    expect((await readdir(directory)).toSorted()).toEqual(["file", "open", "theirs"]);
  });
});

describe("serve()", () => {
  it.each([
    ["ws://127.0.0.1:0", /^ws:\/\/127\.0\.0\.1:[1-9]\d*$/],
    ["ws://[::1]:0", /^ws:\/\/\[::1\]:[1-9]\d*$/],
    ["unix://DIRECTORY/s", /^ws\+unix:\/\/\/.*\/s$/],
  ])("listens on %s until it is closed", async (listen, shown) => {
    const server = await serve({
      listen: listen.replace("DIRECTORY", directory),
      environment: { PATH: process.env["PATH"] },
    });
    expect(server.url).toMatch(shown);
    await expectServed(server.url);
    await using local = await connect(server);
    expect((await local.run(["echo", "here"])).stdout).toBe("here\n");
    await server.close();
    await expect(connect(server.url)).rejects.toMatchObject({ code: "CONNECTION_REFUSED" });
    expect(await readdir(directory)).toEqual([]);
  });

  it("gives one of several that start at once the place, and the others say why", async () => {
    const path = join(directory, "s");
    const listen = `unix://${path}`;
    const started = await Promise.allSettled([serve({ listen }), serve({ listen }), serve({ listen })]);
    const [server, ...more] = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(more).toEqual([]);
    for (const one of started)
      if (one.status === "rejected")
        expect(one.reason).toMatchObject({
          errno: "EADDRINUSE",
          message: `cannot listen on ${path}: another server listens there`,
        });
    await expectServed(server!.url);
    await server!.close();
    expect(await readdir(directory)).toEqual([]);
  });

  it("closes whatever has become of its socket, and more than once", async () => {
    const inner = join(directory, "inner");
    await mkdir(inner);
    const server = await serve({ listen: `unix://${join(inner, "s")}` });
    await rm(inner, { recursive: true });
    await writeFile(inner, "a file");
    await Promise.all([server.close(), server.close()]);
    await server.close();
    expect(await readFile(inner, "utf8")).toBe("a file");
  });

  it.each([
    [{ listen: `unix:///tmp/a%00b` }],
    [{ listen: 5 as unknown as string }],
    [{ listen: new URL("ws://127.0.0.1:0") as unknown as string }],
    [{ authentication: {} as AuthenticationPolicy }],
    [{ authentication: null as unknown as AuthenticationPolicy }],
    [{ authentication: { mode: "capability-token" as const, tokenSha256: Buffer.alloc(0) } }],
    [
      {
        authentication: {
          mode: "signed-bearer-token" as const,
          secret: Buffer.from("short"),
          maxClockSkewSeconds: 30,
        },
      },
    ],
  ])("refuses %o", async (options) => {
    await expect(serve(options)).rejects.toMatchObject({ code: "USAGE" });
  });

  it("refuses what it cannot or should not serve", async () => {
    await expect(serve({ listen: "ws://0.0.0.0:0" })).rejects.toThrow(
      "refusing to listen on `ws://0.0.0.0:0` without authentication",
    );
    await expect(serve({ listen: "http://x" })).rejects.toThrow("unsupported listen URL `http://x`");
    await using server = await serve({ listen: "ws://127.0.0.1:0" });
    await expect(serve({ listen: server.url })).rejects.toMatchObject({
      message: `cannot listen on ${server.url}: Address in use (os error 98)`,
      errno: "EADDRINUSE",
    });
    const open = await serve({ listen: "ws://0.0.0.0:0", insecureNoAuth: true });
    await open.close();
  });
});

it.each(["ws+unix:relative", "ws+unix://host/x", "ws+unix:", "ws+unix:///a%00b"])(
  "connect does not take %s",
  async (url) => {
    await expect((async () => connect(url))()).rejects.toMatchObject({
      code: "USAGE",
      message: `cannot connect to ${url}: expected ws+unix:///PATH`,
    });
  },
);

it("connect does not shorten a path that is too long, and reach another socket", async () => {
  const path = join(directory, "n".repeat(106 - directory.length));
  const other = createNetServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => other.listen(path, resolve));
  let connections = 0;
  other.on("connection", () => (connections += 1));
  const url = socketUrl(`${path}-more`);
  await expect((async () => connect(url))()).rejects.toMatchObject({
    code: "USAGE",
    message: `cannot connect to ${url}: the path is longer than 107 bytes`,
  });
  expect(connections).toBe(0);
  await new Promise((resolve) => other.close(resolve));
});

it("a session over a socket continues after its connection was cut, and nothing is missing or doubled", async () => {
  const server = await start("--listen", `unix://${join(directory, "s")}`);
  await server.banner();
  const open = new Set<Socket>();
  const relay = createNetServer((near) => {
    const far = connectNet(join(directory, "s"));
    for (const socket of [near, far]) open.add(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  });
  const between = join(directory, "relay");
  await new Promise<void>((resolve) => relay.listen(between, resolve));
  await using host = await connect(socketUrl(between));
  const { sessionId } = host;
  const states: string[] = [];
  host.onStateChange((state) => states.push(state));
  await using process = await host.start(
    ["/bin/sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); echo $i; done; read line; echo $line"],
    { stdin: "pipe" },
  );
  const lines: string[] = [];
  for await (const line of process.lines()) {
    lines.push(line);
    if (line === "100" || line === "20000") for (const socket of open) socket.destroy();
    if (line === "30000") await process.write("the end\n");
  }
  expect(lines).toEqual([...Array.from({ length: 30_000 }, (_, index) => `${index + 1}`), "the end"]);
  expect(states.filter((state) => state === "recovering").length).toBeGreaterThan(0);
  expect(host.sessionId).toBe(sessionId);
  await host.close();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => relay.close(resolve));
});

it("connect names a socket that is not there", async () => {
  const url = socketUrl(join(directory, "none"));
  await expect(connect(url)).rejects.toMatchObject({
    code: "CONNECTION_REFUSED",
    message: expect.stringContaining(url) as string,
  });
});

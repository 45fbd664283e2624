import { spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, readFileSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect as dial, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { RightsOptions } from "../../src/server/settings/rights-options.ts";
import { serve } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";

// Who may listen, who gets through to a listener, and which Unix sockets are out of reach.

const DEADLINE_MS = 30_000;
const NOBODY = 65_534;
const DENIED = { code: "PERMISSION_DENIED" };

let directory: string;
let echo: Server;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "listeners-"));
  echo = createServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(join(directory, "echo"));
  await once(echo, "listening");
});

afterEach(async () => {
  echo.close();
  await rm(directory, { recursive: true });
});

const environment = { PATH: process.env["PATH"] };

it("a client reaches neither the server's own socket nor the place of the user's own server", async () => {
  const socket = join(directory, "own");
  await using server = await serve({ environment, listen: `unix://${socket}` });
  await using host = await connect(server.url);
  linkSync(socket, join(directory, "hard"));
  symlinkSync(socket, join(directory, "soft"));
  for (const name of ["own", "hard", "soft"])
    await expect(host.connectUnix(join(directory, name)), name).rejects.toMatchObject(DENIED);
  await expect(
    host.listenUnix(`/tmp/exec-server-${process.geteuid?.()}/listener-test.sock`),
  ).rejects.toMatchObject(DENIED);
  await using other = await host.connectUnix(join(directory, "echo"));
  expect(other.remote).toEqual({ address: join(directory, "echo"), port: 0 });
});

it.each<[string, RightsOptions, readonly boolean[]]>([
  ["full", { preset: "full" }, [true, true, true]],
  [
    "sandboxed with a network",
    { preset: "sandboxed", policy: { write: [], network: true } },
    [true, false, false],
  ],
  ["sandboxed", { preset: "sandboxed", policy: { write: [] } }, [false, false, false]],
  ["files", { preset: "files", roots: ["/var/tmp"] }, [false, false, false]],
  ["observe", { preset: "observe" }, [false, false, false]],
])(
  "a client that is %s may listen on a port, listen on a socket, connect to one",
  async (_, local, allowed) => {
    await using server = await serve({ environment, local });
    await using host = await connect(server.url);
    const attempts = [
      () => host.listenTcp(0),
      () => host.listenUnix(join(directory, "new")),
      () => host.connectUnix(join(directory, "echo")),
    ];
    const codes: (string | undefined)[] = [];
    for (const attempt of attempts)
      codes.push(
        await attempt().then(
          () => undefined,
          ({ code }: { code: string }) => code,
        ),
      );
    expect(codes).toEqual(allowed.map((isAllowed) => (isAllowed ? undefined : "PERMISSION_DENIED")));
  },
);

it("a Unix socket that a client listens on ends with it, and nothing stays behind", async () => {
  await using server = await serve({ environment });
  const host = await connect(server.url);
  const path = join(directory, "new");
  const listener = await host.listenUnix(path);
  const socket = dial(path).resume();
  const closed = once(socket, "close");
  for await (const connection of listener) {
    await connection.writable.getWriter().write(new TextEncoder().encode("hello"));
    const [chunk] = (await withDeadline(once(socket, "data"), DEADLINE_MS, () => "the greeting")) as [Buffer];
    expect(chunk.toString()).toBe("hello");
    await host.close();
    await withDeadline(closed, DEADLINE_MS, () => "the end of the connection");
    break;
  }
  expect(() => readFileSync(path)).toThrow("ENOENT");
});

it("a server that is closed leaves no socket of its clients behind, because its program may end at once", async () => {
  const server = await serve({ environment });
  await using host = await connect(server.url);
  const path = join(directory, "new");
  await host.listenUnix(path);
  await server.close();
  expect(() => readFileSync(path)).toThrow("ENOENT");
});

it("the audit log has listeners, what they accept, and Unix sockets", async () => {
  const file = join(directory, "audit.jsonl");
  const server = await serve({ environment, audit: { file } });
  const host = await connect(server.url);
  const listener = await host.listenTcp(0);
  const socket = dial(listener.local.port, "127.0.0.1").on("error", () => {});
  for await (const connection of listener) {
    await connection.close();
    break;
  }
  socket.destroy();
  await (await host.connectUnix(join(directory, "echo"))).close();
  await host.close();
  await server.close();
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const [listen, accept, unix] = ["listen", "accept", "unix"].map((event) =>
    lines.filter((line) => line["event"] === event),
  );
  expect(listen).toMatchObject([{ port: 0, listener: expect.any(String) as unknown }]);
  expect(accept).toMatchObject([{ listener: listen?.[0]?.["listener"], tcp: expect.any(String) as unknown }]);
  expect(unix).toMatchObject([{ path: `file://${join(directory, "echo")}` }]);
});

it.runIf(process.geteuid?.() === 0)("other users do not get through to a loopback port", async () => {
  await using server = await serve({ environment });
  await using host = await connect(server.url);
  const listener = await host.listenTcp(0);
  const heardBy = async (uid: number): Promise<string> => {
    const script = `exec 3<>/dev/tcp/127.0.0.1/${listener.local.port} && timeout 20 head -1 <&3`;
    const child = spawn("/bin/bash", ["-c", script], { uid, gid: uid, stdio: ["ignore", "pipe", "ignore"] });
    return withDeadline(text(child.stdout), DEADLINE_MS, () => `the end for ${uid}`);
  };
  expect(await heardBy(NOBODY)).toBe("");
  const heard = heardBy(0);
  for await (const connection of listener) {
    await connection.writable.getWriter().write(new TextEncoder().encode("through\n"));
    expect(await heard).toBe("through\n");
    break;
  }
});

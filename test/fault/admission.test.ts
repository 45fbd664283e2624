import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type ListeningServer, serve, type ServeOptions } from "../../src/server/index.ts";
import { pollUntil } from "./deadline.ts";
import { RawSocket, upgradeRequest } from "./raw-websocket.ts";
import { startServer } from "./server-under-test.ts";

const DEADLINE_MS = 60_000;
const STRANGER = 54_321;
const portOf = ({ url }: Pick<ListeningServer, "url">): number => Number(new URL(url).port);

/** The status, head and body of the answer to some text. */
async function ask(port: number, text: string): Promise<string> {
  const socket = await RawSocket.open(port);
  socket.write(text);
  const head = await socket.httpHead();
  socket.cut();
  return head;
}

const statusOf = async (port: number, text: string): Promise<number> =>
  Number((await ask(port, text)).split(" ")[1]);

const withHost = (...lines: string[]): string =>
  upgradeRequest().replace("Host: 127.0.0.1\r\n", lines.map((line) => `${line}\r\n`).join(""));

describe("the Host of a request", () => {
  it("is one of the server's, whatever is asked for", async () => {
    await using server = await serve({ publicUrls: ["https://exec.example.com/path"] });
    const port = portOf(server);
    const own = [
      "localhost:1",
      "127.0.0.1",
      "127.8.8.8:80",
      "[::1]:9",
      "LOCALHOST.",
      "exec.example.com",
      "Exec.Example.com:443",
    ];
    for (const host of own)
      expect([host, await statusOf(port, withHost(`Host: ${host}`))]).toEqual([host, 101]);
    const foreign = [
      "evil.example",
      "localhost.evil.example",
      "evil@localhost",
      "local%68ost",
      "[::1%25lo]",
      "10.0.0.1",
      "a, localhost",
    ];
    for (const host of foreign) {
      expect([host, await statusOf(port, withHost(`Host: ${host}`))]).toEqual([host, 421]);
      for (const path of ["/", "/readyz", "/healthz", "/metrics", "/x"])
        expect(await statusOf(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toBe(421);
    }
    expect(await statusOf(port, withHost("Host: localhost", "Host: evil.example"))).not.toBe(101);
    expect(await statusOf(port, withHost("Host: localhost", "Host: localhost"))).not.toBe(101);
    expect(await statusOf(port, withHost("Host:"))).not.toBe(101);
    // No browser leaves it out, but probes in HTTP/1.0 may.
    expect(await statusOf(port, withHost())).toBe(101);
    expect(await statusOf(port, "GET /readyz HTTP/1.0\r\n\r\n")).toBe(200);
    const absolute = "GET http://evil.example/readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    expect(await statusOf(port, absolute)).toBe(404);
  });

  it("is any address if the server listens on all of them, and no stranger's name", async () => {
    await using server = await serve({ listen: "ws://0.0.0.0:0", insecureNoAuth: true });
    const port = portOf(server);
    for (const host of ["192.0.2.1", "[2001:db8::1]:3", "localhost"])
      expect(await statusOf(port, withHost(`Host: ${host}`))).toBe(101);
    expect(await statusOf(port, withHost("Host: evil.example"))).toBe(421);
  });
});

describe("the Origin of a page", () => {
  const token = "secret~token";
  const options: ServeOptions = {
    allowOrigins: ["https://app.example", "http://localhost:3000"],
    authentication: {
      mode: "capability-token",
      tokenSha256: createHash("sha256").update(token).digest(),
    },
  };
  const encoded = Buffer.from(token).toString("base64url");
  const protocols = `Sec-WebSocket-Protocol: exec-server, exec-server.bearer.${encoded}`;

  it("is exactly an allowed one, and the token comes as a subprotocol, which is not sent back", async () => {
    await using server = await serve(options);
    const port = portOf(server);
    for (const origin of options.allowOrigins!) {
      const head = await ask(port, upgradeRequest([`Origin: ${origin}`, protocols]));
      expect(head).toMatch(/^HTTP\/1\.1 101 /);
      expect(head).toMatch(/^sec-websocket-protocol: exec-server$/im);
      expect(head).not.toContain(encoded);
    }
    const others = [
      "https://app.example:444",
      "http://app.example",
      "https://APP.example",
      "https://app.example/",
      "null",
      "",
      "*",
    ];
    for (const origin of others)
      expect([origin, await statusOf(port, upgradeRequest([`Origin: ${origin}`, protocols]))]).toEqual([
        origin,
        403,
      ]);
    const twice = upgradeRequest(["Origin: https://app.example", "Origin: https://app.example", protocols]);
    expect(await statusOf(port, twice)).toBe(403);
    expect(
      await ask(port, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n\r\n"),
    ).not.toMatch(/access-control/i);
  });

  it.each([
    ["no token", "Sec-WebSocket-Protocol: exec-server", 401],
    ["a wrong one", "Sec-WebSocket-Protocol: exec-server, exec-server.bearer.d3Jvbmc", 401],
    ["no base64", "Sec-WebSocket-Protocol: exec-server, exec-server.bearer.a+b=", 401],
    ["two", `${protocols}, exec-server.bearer.d3Jvbmc`, 401],
    ["a huge one", `Sec-WebSocket-Protocol: exec-server.bearer.${"a".repeat(12_000)}`, 401],
    [
      "one that is larger than a head",
      `Sec-WebSocket-Protocol: exec-server.bearer.${"a".repeat(20_000)}`,
      431,
    ],
    ["a wrong header beside it", `${protocols}\r\nAuthorization: Bearer wrong`, 401],
  ])("does not help a page with %s", async (_, line, status) => {
    await using server = await serve(options);
    expect(await statusOf(portOf(server), upgradeRequest(["Origin: https://app.example", line]))).toBe(
      status,
    );
  });
});

/** Another user's program, which prints what it is answered. */
function program(port: number, ending: string): string[] {
  const script = `
    const socket = require("node:net").connect(${port}, "127.0.0.1", () => {
      socket.write(${JSON.stringify(upgradeRequest())}, () => { ${ending} });
    });
    socket.on("data", (data) => { process.stdout.write(data); socket.destroy(); });
    socket.on("error", () => {});
  `;
  return [process.execPath, "-e", script];
}

async function upgradeAs(user: number, port: number): Promise<string> {
  const through = ["--reuid", `${user}`, "--regid", `${user}`, "--clear-groups"];
  const { stdout } = await promisify(execFile)("setpriv", [...through, ...program(port, "")], { cwd: "/" });
  return stdout;
}

describe("users of this machine", () => {
  it("other than the server's own and root do not connect to loopback", async () => {
    const user = 54_322;
    await using server = await startServer({ user });
    expect(await upgradeAs(user, server.port)).toMatch(/^HTTP\/1\.1 101 /);
    expect(await upgradeAs(0, server.port)).toMatch(/^HTTP\/1\.1 101 /);
    const refusal = await upgradeAs(STRANGER, server.port);
    expect(refusal).toMatch(/^HTTP\/1\.1 403 /);
    expect(refusal).toContain("only the user who runs this server may connect: set --ws-auth");
  });

  it("do if they are allowed to, or have a token", async () => {
    await using open = await serve({ allowLocalUsers: true });
    expect(await upgradeAs(STRANGER, portOf(open))).toMatch(/^HTTP\/1\.1 101 /);
    const tokenSha256 = createHash("sha256").update("t").digest();
    await using guarded = await serve({ authentication: { mode: "capability-token", tokenSha256 } });
    expect(await upgradeAs(STRANGER, portOf(guarded))).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("who have left are not taken for root, to whom the kernel gives what they leave", async () => {
    const causes: string[] = [];
    let connected = 0;
    await using server = await serve({
      observers: [{ refused: ({ cause }) => causes.push(cause), connected: () => (connected += 1) }],
    });
    // This program is the server, so nothing is looked up before the stranger has left.
    const through = ["--reuid", `${STRANGER}`, "--clear-groups"];
    execFileSync("setpriv", [...through, ...program(portOf(server), "process.exit()")], { cwd: "/" });
    await pollUntil(
      () => causes.length + connected > 0,
      DEADLINE_MS,
      () => "a decision",
    );
    expect({ causes, connected }).toEqual({ causes: ["user"], connected: 0 });
  });
});

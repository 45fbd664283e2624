import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { connect } from "../../src/client/index.ts";
import { launch, type ServerKind, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";

const DEADLINE_MS = 60_000;

/** A registry that admits everyone, and remembers what it was asked. */
let registry: Server;
let base: string;
let asked: string[];
let upgrades: number;
/** What it answers instead. */
let refusal: { readonly status: number; readonly body: string } | undefined;
let upgradeStatus: number;
const started: ServerProcess[] = [];

beforeEach(async () => {
  [asked, upgrades, refusal, upgradeStatus] = [[], 0, undefined, 101];
  const sockets = new WebSocketServer({ noServer: true });
  registry = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const answer = {
      environment_id: "x",
      url: base.replace("http", "ws"),
      security_profile: "noise_hybrid_ik_v1",
      executor_registration_id: "r",
    };
    response.writeHead(refusal?.status ?? 200, { "content-type": "application/json" });
    response.end(refusal?.body ?? JSON.stringify(answer));
  });
  registry.on("upgrade", (request, socket, head) => {
    upgrades += 1;
    if (upgradeStatus === 101) sockets.handleUpgrade(request, socket, head, () => {});
    else socket.end(`HTTP/1.1 ${upgradeStatus} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  await new Promise<void>((resolve) => void registry.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop("SIGKILL")));
  registry.closeAllConnections();
  registry.close();
});

async function start(
  kind: ServerKind,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  const server = await launch(kind, args, { env: { RUST_BACKTRACE: "0", ...env } });
  started.push(server);
  return server;
}

const remote = (
  kind: ServerKind,
  args: readonly string[] = [],
  env?: Record<string, string>,
): Promise<ServerProcess> => start(kind, ["--remote", base, "--environment-id", "x", ...args], env);

async function ended(server: ServerProcess): Promise<{ code: number | null; said: string }> {
  const { code } = await withDeadline(server.exited, DEADLINE_MS, () => "its end");
  return { code, said: server.stderr.split("\n", 1)[0]! };
}

const connected = (): Promise<unknown> =>
  pollUntil(
    () => upgrades > 0,
    DEADLINE_MS,
    () => "its connection",
  );
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const frame = (changed: object = {}): string =>
  `${JSON.stringify({ version: 1, environment_id: "x", token: "first", expires_at: inSeconds(600), ...changed })}\n`;

describe.each<ServerKind>(["ours", "codex"])("remote mode of %s", (kind) => {
  it("registers with CODEX_API_KEY, connects, and ends in order", async () => {
    const server = await remote(kind, ["--name", "N"], { CODEX_API_KEY: "key" });
    await connected();
    expect(asked).toEqual(["POST /cloud/environment/x/register Bearer key"]);
    // Until it has said where it is, a signal ends it as any program.
    if (kind === "ours") await server.banner();
    server.child.kill("SIGTERM");
    expect(await ended(server)).toMatchObject({ code: 0 });
  });

  it("registers with a bearer on stdin, whatever the environment says, and stays when stdin ends", async () => {
    const server = await remote(kind, ["--registration-bearer-stdin"], { CODEX_API_KEY: "key" });
    server.child.stdin!.end("bearer\r\n");
    await connected();
    expect(asked).toEqual(["POST /cloud/environment/x/register Bearer bearer"]);
    expect(server.child.exitCode).toBeNull();
  });

  it("ends with stdin if it is asked to", async () => {
    const server = await remote(kind, ["--registration-bearer-stdin", "--exit-on-stdin-close"]);
    server.child.stdin!.write("bearer\n");
    await connected();
    server.child.stdin!.end();
    expect(await ended(server)).toEqual({ code: 0, said: expect.any(String) as string });
  });

  it("takes credentials on stdin, the newest for the next registration, and ends with the pipe", async () => {
    upgradeStatus = 404;
    const server = await remote(kind, ["--executor-credential-stdin"]);
    server.child.stdin!.write(frame());
    await connected();
    server.child.stdin!.write(frame({ token: "second" }));
    const isRenewed = (): boolean => asked.at(-1) === "POST /cloud/environment/x/register Bearer second";
    await pollUntil(isRenewed, DEADLINE_MS, () => "the second credential");
    expect(asked[0]).toBe("POST /cloud/environment/x/register Bearer first");
    upgradeStatus = 101;
    server.child.stdin!.end();
    expect(await ended(server)).toMatchObject({ code: 0 });
  });

  it("ends if a later credential is wrong", async () => {
    const server = await remote(kind, ["--executor-credential-stdin"]);
    server.child.stdin!.write(frame());
    await connected();
    server.child.stdin!.write("rubbish\n");
    const { code } = await ended(server);
    expect(code).toBe(1);
    expect(server.stderr).toContain("Error: invalid exec-server executor credential frame\n");
  });

  it.each([
    ["expired", () => frame({ expires_at: inSeconds(-5) }), "exec-server executor credential is expired"],
    [
      "for another",
      () => frame({ environment_id: "y" }),
      "exec-server executor credential is for a different environment",
    ],
    ["empty", () => "{}\n", "invalid exec-server executor credential frame"],
    ["with more", () => frame({ more: 1 }), "invalid exec-server executor credential frame"],
    ["of another version", () => frame({ version: 2 }), "invalid exec-server executor credential frame"],
    ["with a blank", () => frame({ token: "a b" }), "invalid exec-server executor credential frame"],
    [
      "too long",
      () => frame({ token: "t".repeat(200_000) }),
      "exec-server executor credential frame exceeds the size limit",
    ],
    ["missing", () => "", "exec-server executor credential pipe closed"],
  ])("a credential that is %s ends it", async (_, text, message) => {
    const server = await remote(kind, ["--executor-credential-stdin"]);
    if (text() === "") server.child.stdin!.end();
    else server.child.stdin!.write(text());
    expect(await ended(server)).toEqual({ code: 1, said: `Error: ${message}` });
    expect(asked).toEqual([]);
  });

  it.each([
    ["blank", "\n", "invalid registration bearer"],
    ["two words", "a b\n", "invalid registration bearer"],
    ["unfinished", "bearer", "expected a newline-terminated registration bearer of at most 16 KiB"],
    [
      "too long",
      `${"b".repeat(16_384)}\n`,
      "expected a newline-terminated registration bearer of at most 16 KiB",
    ],
  ])("a bearer that is %s ends it", async (_, text, message) => {
    const server = await remote(kind, ["--registration-bearer-stdin"]);
    server.child.stdin!.end(text);
    expect(await ended(server)).toEqual({ code: 1, said: `Error: ${message}` });
    expect(asked).toEqual([]);
  });

  const error = (code: string, message: string): string => JSON.stringify({ error: { code, message } });
  it.each([
    [
      401,
      error("c", "no"),
      "environment registry authentication error: environment registry authentication failed (401 Unauthorized): no",
    ],
    [404, error("gone", "not here"), "environment registry request failed (404 Not Found, gone): not here"],
    [409, "plain", "environment registry request failed (409 Conflict): plain"],
  ])("a first registration that is answered %s ends it", async (status, body, message) => {
    refusal = { status, body };
    const server = await remote(kind, [], { CODEX_API_KEY: "key" });
    expect(await ended(server)).toEqual({ code: 1, said: `Error: ${message}` });
  });

  it.each([
    [
      "--registration-bearer-stdin",
      404,
      "request failed (404 Not Found): environment registry executor registration failed",
    ],
    [
      "--executor-credential-stdin",
      404,
      "request failed (404 Not Found): environment registry executor registration failed",
    ],
    [
      "--registration-bearer-stdin",
      401,
      "authentication error: environment registry authentication failed (401 Unauthorized): response body omitted",
    ],
    [
      "--executor-credential-stdin",
      403,
      "authentication error: environment registry authentication failed (403 Forbidden): response body omitted",
    ],
  ])("does not show what is answered to %s: %s", async (flag, status, message) => {
    refusal = { status, body: error("c", "you said bearer") };
    const server = await remote(kind, [flag]);
    server.child.stdin!.write(flag.startsWith("--reg") ? "bearer\n" : frame());
    const isToken = kind === "ours" && status < 404;
    const said = isToken ? `the relay refused the token (${status})` : `environment registry ${message}`;
    expect(await ended(server)).toEqual({ code: 1, said: `Error: ${said}` });
  });

  const answer = (changes: object): string =>
    JSON.stringify({
      environment_id: "x",
      url: base.replace("http", "ws"),
      security_profile: "noise_hybrid_ik_v1",
      executor_registration_id: "r",
      ...changes,
    });
  it.each([
    ["rubbish", () => "rubbish", "failed to serialize or deserialize exec-server JSON: "],
    ["no url", () => answer({ url: undefined }), "failed to serialize or deserialize exec-server JSON: "],
    [
      "another environment",
      () => answer({ environment_id: "y" }),
      "exec-server protocol error: environment registry returned a different environment id",
    ],
    [
      "another profile",
      () => answer({ security_profile: "p" }),
      "exec-server protocol error: environment registry returned unsupported security profile `p`",
    ],
  ])("a registration that is answered with %s ends it", async (_what, body, message) => {
    refusal = { status: 200, body: body() };
    const { code, said } = await ended(await remote(kind, [], { CODEX_API_KEY: "key" }));
    expect(code).toBe(1);
    expect(said).toMatch(`Error: ${message}`);
  });

  it("says which address cannot be reached", async () => {
    const args = ["--remote", "http://127.0.0.1:9", "--environment-id", "x"];
    const server = await start(kind, args, { CODEX_API_KEY: "key" });
    await pollUntil(
      () => server.stderr.includes("\n"),
      DEADLINE_MS,
      () => "what it says",
    );
    expect(server.stderr).toContain(
      "environment registry request failed: error sending request for url (http://127.0.0.1:9/cloud/environment/x/register)",
    );
  });

  it("takes --exit-on-stdin-close from the environment", async () => {
    const name = "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE";
    const server = await remote(kind, [], { CODEX_API_KEY: "key", [name]: "true" });
    await connected();
    server.child.stdin!.end();
    expect(await ended(server)).toMatchObject({ code: 0 });
    const lasting = await remote(kind, [], { CODEX_API_KEY: "key", [name]: "false" });
    lasting.child.stdin!.end();
    await pollUntil(
      () => upgrades === 2,
      DEADLINE_MS,
      () => "its connection",
    );
    for (const value of ["yes", "1"]) {
      const { code, said } = await ended(await start(kind, [], { [name]: value }));
      expect([code, said]).toEqual([2, `error: invalid value '${value}' for '--exit-on-stdin-close'`]);
    }
    const alone = await ended(await start(kind, [], { [name]: "true" }));
    expect(alone.said).toBe("error: the following required arguments were not provided:");
  });

  it.each([
    [["--remote", "http://127.0.0.1:9"], 2, "error: the following required arguments were not provided:"],
    [["--exit-on-stdin-close"], 2, "error: the following required arguments were not provided:"],
    [
      ["--remote", "http://h.example", "--environment-id", "x", "--registration-bearer-stdin"],
      1,
      "Error: environment registry configuration error: remote transport requires https for non-loopback endpoints",
    ],
    [
      ["--remote", "http://127.0.0.1:9", "--environment-id", "", "--registration-bearer-stdin"],
      1,
      "Error: environment registry configuration error: environment id is required for remote exec-server registration",
    ],
    [
      [
        "--remote",
        "http://127.0.0.1:9",
        "--environment-id",
        "x",
        "--executor-credential-stdin",
        "--registration-bearer-stdin",
      ],
      2,
      "error: the argument '--executor-credential-stdin' cannot be used with '--registration-bearer-stdin'",
    ],
  ])("%j is refused", async (args, code, said) => {
    const server = await start(kind, args);
    server.child.stdin!.end("bearer\n");
    expect(await ended(server)).toEqual({ code, said });
  });
});

it.each([
  [["--use-agent-identity-auth"], "a login of OpenAI's"],
  [["--chatgpt-token-stdin"], "a login of OpenAI's"],
  [["--chatgpt-account-id", "1"], "a login of OpenAI's"],
  [["--remote-transport", "direct"], "lets the relay read everything"],
  [["--aws-sigv4"], "needs AWS"],
  [["--aws-profile", "p"], "needs AWS"],
  [[], "set CODEX_API_KEY"],
])("ours says why it takes no %j", async (args, why) => {
  const server = await remote("ours", args);
  const { said } = await ended(server);
  expect(said).toContain(why);
});

describe("ours, while the relay refuses or cannot be reached", () => {
  const busy = JSON.stringify({ error: { code: "busy", message: "later" } });
  const says = (server: ServerProcess, text: string): Promise<unknown> =>
    pollUntil(
      () => server.stderr.includes(text),
      DEADLINE_MS,
      () => server.stderr,
    );

  it("waits to be registered, says so once, and ends with stdin if it is asked to", async () => {
    refusal = { status: 503, body: busy };
    const server = await remote("ours", ["--registration-bearer-stdin", "--exit-on-stdin-close"]);
    server.child.stdin!.write("bearer\n");
    await pollUntil(
      () => asked.length > 2,
      DEADLINE_MS,
      () => "more attempts",
    );
    expect(server.stderr.match(/the relay cannot be reached; trying again/g)).toHaveLength(1);
    expect(server.stdout).toBe("");
    server.child.stdin!.end();
    expect(await ended(server)).toMatchObject({ code: 0 });
  });

  it("prints its name when the relay is there again", async () => {
    refusal = { status: 503, body: busy };
    const server = await remote("ours", [], { CODEX_API_KEY: "key" });
    await says(server, "trying again");
    refusal = undefined;
    expect(await server.banner()).toBe("relay:x");
    await connected();
  });

  it.each([
    [401, "the relay refuses this executor; trying again"],
    [503, "the relay cannot be reached; trying again"],
  ])("serves at its own address meanwhile, with a %i", async (status, text) => {
    refusal = { status, body: busy };
    const args = ["--listen", "ws://127.0.0.1:0", "--no-console"];
    const server = await remote("ours", args, { CODEX_API_KEY: "key" });
    const host = await connect(await server.banner());
    expect((await host.run(["echo", "there"])).stdout).toBe("there\n");
    await says(server, text);
    refusal = undefined;
    await connected();
    await host.close();
  });
});

/** The real one may take the end for a bearer that is not finished. */
it("asks nobody if stdin has ended before", async () => {
  const server = await remote("ours", ["--registration-bearer-stdin", "--exit-on-stdin-close"]);
  server.child.stdin!.end();
  expect(await ended(server)).toEqual({ code: 0, said: "" });
  expect(asked).toEqual([]);
});

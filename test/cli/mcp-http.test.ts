import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { awaitMarked, awaitNoneLeft, killMarked } from "../fault/marked-processes.ts";
import { startServer } from "../fault/server-under-test.ts";
import { runCommand } from "./command.ts";
import { McpHttpScene, RawHttpUser, type TokenName } from "./mcp-http-scene.ts";

let scene: McpHttpScene;
const marker = `mcp-http-${process.pid}-${Date.now()}`;
beforeEach(() => {
  scene = new McpHttpScene();
});
afterEach(async () => {
  await scene[Symbol.asyncDispose]();
  killMarked(marker);
});

const at = (name: string): string => join(scene.root, name);
const MARK = { FAULT_MARKER: marker };
/** A command, its child in another session, and a grandchild without a parent. */
const FAMILY = "(setsid sleep 300 &); sleep 300 & exec sleep 300";
const FILE_TOOLS = ["read_file", "write_file", "edit_file", "list_directory"];
const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
const VERSIONS = [
  ["2025-11-25", {}],
  ["2026-07-28", MODERN],
] as const;

describe.each(VERSIONS)("with %s", (version, options) => {
  it("every tool works", async () => {
    await scene.serve(["--mcp-network"]);
    const user = await scene.connect({ options });
    expect(user.client.getNegotiatedProtocolVersion()).toBe(version);
    expect(user.client.getInstructions()).toContain(`in ${scene.root}. Commands run in a sandbox: `);
    expect((await user.client.listTools()).tools).toHaveLength(12);
    const started = await user.call("exec_command", {
      cmd: "read name; echo hello $name; read more",
      login: false,
      tty: true,
      yield_time_ms: 250,
    });
    const { session_id } = started.structured as { session_id: number };
    const sent = user.call("write_stdin", { session_id, chars: "Ann\n", yield_time_ms: 250 });
    const waited = await user.call("wait_for", { session_id, pattern: "^hello (?!\\$)" });
    expect(waited.structured).toMatchObject({ reason: "matched", line: "hello Ann", running: true });
    await sent;
    expect((await user.call("read_output", { session_id, offset: -11 })).structured).toMatchObject({
      output: "hello Ann\r\n",
    });
    expect((await user.call("list_processes")).structured["processes"]).toHaveLength(1);
    expect((await user.call("kill_process", { session_id })).structured).toMatchObject({ running: false });
    expect((await user.call("write_file", { path: "a.txt", content: "one\n" })).isError).toBe(false);
    const edited = await user.call("edit_file", { path: "a.txt", old_string: "one", new_string: "two" });
    expect(edited.structured["diff"]).toContain("+two");
    expect((await user.call("read_file", { path: "a.txt" })).text).toBe("two\n");
    expect((await user.call("list_directory")).text).toContain("a.txt");
    expect((await user.call("search_files", { pattern: "^t" })).structured["matches"]).toHaveLength(1);
    const requested = await user.call("http_request", { url: `${scene.url.slice(0, -4)}/healthz` });
    expect(requested.structured).toMatchObject({ status: 200 });
    const outside = await user.call("write_file", { path: "../outside", content: "x" });
    expect(outside.text).toContain(`they can write below ${scene.root}`);
  });

  it("reports progress, and a call that is cancelled leaves no process", async () => {
    await scene.serve();
    const user = await scene.connect({ options });
    const cancelling = new AbortController();
    let call: Promise<unknown> | undefined;
    const progress = await new Promise((resolve) => {
      call = user.client.callTool(
        { name: "exec_command", arguments: { cmd: `echo working; ${FAMILY}`, login: false, env: MARK } },
        { signal: cancelling.signal, onprogress: (heard) => heard.message && resolve(heard) },
      );
      call.catch(() => {});
    });
    expect(progress).toMatchObject({ message: "working" });
    await awaitMarked(marker, 3);
    cancelling.abort();
    await expect(call).rejects.toThrow();
    await awaitNoneLeft(marker);
    const next = await user.call("exec_command", { cmd: "echo on", login: false });
    expect(next.structured).toMatchObject({ output: "on\n" });
  });

  it("50 clients at once cancel their commands, and no process is left", async () => {
    await scene.serve();
    const users = await Promise.all(Array.from({ length: 50 }, () => scene.connect({ options })));
    const calls = users.map((user) => {
      const cancelling = new AbortController();
      const args = { cmd: "sleep 300 & exec sleep 300", login: false, env: MARK, yield_time_ms: 30_000 };
      const ended = user.call("exec_command", args, { signal: cancelling.signal }).then(
        () => "answered",
        () => "cancelled",
      );
      return { cancelling, ended };
    });
    await awaitMarked(marker, 100);
    for (const { cancelling } of calls) cancelling.abort();
    expect(new Set(await Promise.all(calls.map(({ ended }) => ended)))).toEqual(new Set(["cancelled"]));
    await awaitNoneLeft(marker);
  });

  it("what a client that has vanished has left ends after its session's time", async () => {
    await scene.serve(["--mcp-session-idle-ms", "5000"]);
    const user = await scene.connect({ options });
    const { structured } = await user.call("exec_command", {
      cmd: FAMILY,
      login: false,
      env: MARK,
      yield_time_ms: 250,
    });
    expect(structured).toMatchObject({ running: true });
    await awaitMarked(marker, 3);
    // Without a word to the server.
    await user.client.close();
    await awaitNoneLeft(marker);
  });

  it("a user is asked", async () => {
    await scene.serve(["--mcp-ask", "write_file"]);
    const user = await scene.connect({
      options: { ...options, capabilities: { elicitation: {} } },
      prepare: (client) =>
        client.setRequestHandler("elicitation/create", ({ params }) =>
          params.message.includes("good") ? { action: "accept", content: {} } : { action: "decline" },
        ),
    });
    expect(await user.call("write_file", { path: "good", content: "x" })).toMatchObject({ isError: false });
    expect(await user.call("write_file", { path: "bad", content: "x" })).toMatchObject({ isError: true });
    expect([existsSync(at("good")), existsSync(at("bad"))]).toEqual([true, false]);
  });

  it.each([
    ["files", FILE_TOOLS],
    ["readers", ["read_file", "list_directory"]],
  ] as const)("the token %s has file tools only", async (token, names) => {
    await scene.serve();
    writeFileSync(join(scene.files, "a"), "text");
    const user = await scene.connect({ options }, token);
    expect((await user.client.listTools()).tools.map(({ name }) => name)).toEqual(names);
    expect(user.client.getInstructions()).toContain(`Only files below ${scene.files} are within reach.`);
    expect((await user.call("read_file", { path: "a" })).text).toBe("text");
    expect(await user.call("read_file", { path: scene.table })).toMatchObject({ isError: true });
    expect(await user.call("exec_command", { cmd: "true" })).toMatchObject({ isError: true });
    const written = await user.call("write_file", { path: "b", content: "x" });
    expect(written.isError).toBe(token === "readers");
  });

  it("a policy confines its token, too", async () => {
    await scene.serve();
    const user = await scene.connect({ options }, "sandboxed");
    const { structured } = await user.call("exec_command", { cmd: "echo x > a; touch ../b", login: false });
    expect(structured["output"]).toContain("Read-only file system");
    expect(readFileSync(at("a"), "utf8")).toBe("x\n");
  });
});

describe("who is admitted", () => {
  beforeEach(() => scene.serve(["--allow-origin", "https://good.example"]));

  it.each([
    ["without a token", null, 401],
    ["with a wrong one", "Bearer nothing-that-anybody-would-have-been-given", 401],
    ["with a password", "Basic YTpi", 401],
  ])("nobody %s", async (_, authorization, expected) => {
    for (const method of ["POST", "GET", "DELETE", "PUT"]) {
      const response = await scene.raw().open({
        method,
        headers: { authorization },
        ...(method === "POST" ? { body: "{}" } : {}),
      });
      expect([method, response.status, response.headers.get("www-authenticate")]).toEqual([
        method,
        expected,
        "Bearer",
      ]);
    }
  });

  it("there is no OAuth", async () => {
    for (const name of ["protected-resource", "protected-resource/mcp", "authorization-server"]) {
      const response = await fetch(scene.url.replace("/mcp", `/.well-known/oauth-${name}`));
      expect([name, response.status]).toEqual([name, 404]);
    }
  });

  it("no page of another origin, but one that is allowed", async () => {
    const answers = await Promise.all(
      [
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        scene.url.slice(0, -4),
        "https://good.example",
      ].map((origin) => scene.raw().request("ping", {}, { headers: { origin, "mcp-session-id": "none" } })),
    );
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 404, 404]);
    const preflight = await scene.raw().open({
      method: "OPTIONS",
      headers: { origin: "https://good.example", authorization: null, "content-type": null },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://good.example");
    expect(preflight.headers.get("access-control-allow-headers")).toContain("mcp-session-id");
  });

  it("no name that is not the server's own", async () => {
    const { request } = await import("node:http");
    const status = await new Promise((resolve) => {
      request(scene.url, {
        method: "POST",
        headers: { host: "rebound.example", authorization: `Bearer ${scene.secrets.full}` },
      })
        .on("response", (response) => resolve(response.resume().statusCode))
        .end("{}");
    });
    expect(status).toBe(421);
  });

  it("no token that could only look on", async () => {
    const { status, text } = await scene.raw("observe").initialize();
    expect({ status, text }).toEqual({
      status: 403,
      text: "the preset observe has neither commands nor files, so there are no tools",
    });
  });
});

it("each call is in the audit log under the name of its token", async () => {
  await scene.serve();
  for (const token of ["full", "sandboxed"] as const) {
    const user = await scene.connect({}, token);
    await user.call("exec_command", { argv: ["echo", token] });
    await user.call("write_file", { path: `by-${token}`, content: "x" });
  }
  const lines = await pollUntil(
    () => {
      const found = scene.audited.filter(({ event }) => event === "start" || event === "writeFile");
      return found.length === 4 && found;
    },
    20_000,
    () => JSON.stringify(scene.audited),
  );
  const tokens = new Map(
    scene.audited
      .filter(({ event }) => event === "connect")
      .map(({ connection, token, from }) => {
        expect(from).toMatch(/^mcp 127\.0\.0\.1:\d+$/);
        return [connection, token];
      }),
  );
  expect(lines.map(({ connection, event, principal }) => [event, principal, tokens.get(connection)])).toEqual(
    [
      ["start", "name:full", "full"],
      ["writeFile", "name:full", "full"],
      ["start", "name:sandboxed", "sandboxed"],
      ["writeFile", "name:sandboxed", "sandboxed"],
    ],
  );
});

async function startCommand(user: ReturnType<McpHttpScene["raw"]>): Promise<number> {
  await user.initialize();
  const { message } = await user.call("exec_command", {
    cmd: "exec sleep 300",
    login: false,
    env: MARK,
    yield_time_ms: 250,
  });
  return (message.result!["structuredContent"] as { session_id: number }).session_id;
}

const said = (message: { readonly result?: Record<string, unknown> }): string =>
  JSON.stringify(message.result?.["structuredContent"] ?? message.result?.["content"]);

describe("a session", () => {
  it("does not exist for others", async () => {
    await scene.serve();
    const owner = scene.raw();
    const session_id = await startCommand(owner);
    const neighbour = scene.raw();
    await neighbour.initialize();
    expect(said((await neighbour.call("list_processes", {})).message)).toBe('{"processes":[]}');
    const killed = await neighbour.call("kill_process", { session_id });
    expect(killed.message.result).toMatchObject({ isError: true });
    for (const token of ["other", "files", "sandboxed"] satisfies TokenName[]) {
      const thief = scene.raw(token);
      thief.session = owner.session;
      expect((await thief.call("kill_process", { session_id })).status).toBe(404);
      expect((await thief.open({ method: "GET" })).status).toBe(404);
      expect((await thief.open({ method: "DELETE" })).status).toBe(404);
    }
    expect(said((await owner.call("list_processes", {})).message)).toContain('"running":true');
    const modern = await scene.connect({ options: MODERN });
    expect((await modern.call("list_processes")).structured).toEqual({ processes: [] });
  });

  it("ends with DELETE, and its processes with it", async () => {
    await scene.serve();
    const user = scene.raw();
    await startCommand(user);
    expect((await user.open({ method: "DELETE" })).status).toBe(200);
    await awaitNoneLeft(marker);
    expect((await user.call("list_processes", {})).status).toBe(404);
  });

  it("ends with its token, and so does its stream", async () => {
    await scene.serve();
    const user = scene.raw("other");
    await startCommand(user);
    const stream = await user.open({ method: "GET" });
    const ended = stream.text().catch(() => "cut");
    scene.writeTokens(["other"]);
    expect(await ended).toBe("cut");
    expect((await user.call("list_processes", {})).status).toBe(401);
  });

  it("ends with the server", async () => {
    await scene.serve();
    await startCommand(scene.raw());
    await scene.server.kill("SIGTERM");
    await awaitNoneLeft(marker);
  });

  it("makes room for a further one of its token if it is idle, but not for those of others", async () => {
    await scene.serve(["--max-mcp-sessions", "8"]);
    const [first, second] = [scene.raw(), scene.raw()];
    await startCommand(first);
    await second.initialize();
    const stream = await second.open({ method: "GET" });
    const third = scene.raw();
    expect((await third.initialize()).status).toBe(200);
    await awaitNoneLeft(marker);
    expect((await first.request("ping", {})).status).toBe(404);
    expect((await second.request("ping", {})).status).toBe(200);
    const busy = await third.open({ method: "GET" });
    const fourth = await scene.raw().initialize();
    expect(fourth).toMatchObject({
      status: 503,
      message: { error: { message: expect.stringContaining("2 sessions in use") } },
    });
    expect((await scene.raw("other").initialize()).status).toBe(200);
    await Promise.all([stream.body?.cancel(), busy.body?.cancel()]);
  });
});

describe("the program", () => {
  const listen = ["serve", "--listen", "ws://127.0.0.1:0"];
  const sha256 = "ab".repeat(32);
  const token = ["--ws-auth", "capability-token", "--ws-token-sha256", sha256];

  it.each([
    ["without a token", [...listen, "--mcp"], "'--mcp' needs '--ws-auth <MODE>'"],
    ["without an address", ["serve", "--listen", "stdio", "--mcp"], "'--mcp' needs an address"],
    ["with options for nothing", [...listen, ...token, "--mcp-network"], "'--mcp-network' needs '--mcp'"],
    ["with no tools", [...listen, ...token, "--mcp", "--mcp-tools", ","], "expected names such as read_file"],
    [
      "with an unknown tool",
      [...listen, ...token, "--mcp", "--mcp-tools", "nope"],
      "there is no tool 'nope' here",
    ],
    [
      "with an unknown sandbox",
      [...listen, ...token, "--mcp", "--mcp-sandbox", "no"],
      "expected workspace-write",
    ],
  ])("does not start %s", async (_, args, said) => {
    const { status, stderr } = await runCommand(args, { cwd: scene.place });
    expect({ status, stderr }).toMatchObject({ stderr: expect.stringContaining(said) });
    expect(status).not.toBe(0);
  });

  it("reads what the configuration file says, from its own directory", async () => {
    const file = join(scene.place, "server.toml");
    for (const [mcp, said] of [
      ["mcp = 7", "mcp must be true, false, or a table"],
      ["[mcp]\nroots = 'x'", "mcp.roots must be an array of paths"],
      ["[mcp]\nrots = ['x']", "mcp.rots is not a known key"],
    ] as const) {
      writeFileSync(file, mcp);
      const { stderr } = await runCommand([...listen, ...token, "--config", file], { cwd: scene.place });
      expect(stderr).toContain(said);
    }
    writeFileSync(file, "[mcp]\nroots = ['root']\nsandbox = 'read-only'");
    const secret = createHash("sha256").update(scene.secrets.full).digest("hex");
    await using server = await startServer({
      args: ["--config", file, "--ws-auth", "capability-token", "--ws-token-sha256", secret],
    });
    const user = new RawHttpUser(`http://127.0.0.1:${server.port}/mcp`, scene.secrets.full);
    const { message } = await user.initialize();
    expect(message.result?.["instructions"]).toContain(
      `in ${scene.root}. Commands run in a sandbox: they can change no`,
    );
  });
});

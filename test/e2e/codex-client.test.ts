import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { access, open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { toml } from "./codex-run.ts";
import { body, expectResumed, lines, sessionIn, started } from "./codex-output.ts";
import type { CuttingProxy } from "./cutting-proxy.ts";
import { McpHttp } from "./mcp-http.ts";
import { call, customCall, type Step } from "./mock-model.ts";
import { ONE_PIXEL_PNG } from "./one-pixel.ts";
import { serverKind, Workspace } from "./workspace.ts";

const DEADLINE_MS = 60_000;
/** The client's longest wait for a command that should end on its own. */
const PATIENT = { yield_time_ms: 30_000 };
/** The client's shortest wait for one that is not. */
const BRIEF = { yield_time_ms: 250 };
const CTRL_C = "\u0003";
/** A model that the client knows and gives its tools as functions of a script. */
const CODE_MODE_MODEL = "gpt-6.1-sol";

/** Sends keys to the session that the first step has left running, as soon as it has printed `prompt`. */
const type = (proxy: CuttingProxy, prompt: string, chars: string, wait: object): Step => {
  return async (outputs) => {
    await proxy.until(() => proxy.output.includes(prompt), `${prompt} in the output`);
    return call("write_stdin", { session_id: sessionIn(outputs[0]?.text), chars, ...wait });
  };
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe(`codex exec on ${serverKind === "codex" ? "its own" : "this"} server`, () => {
  it("reads instructions and skills of the workspace", async () => {
    await using workspace = await Workspace.open();
    const instructions = "Answer in rhymes about harbours.\n";
    const skill = "---\nname: demo\ndescription: Folds paper boats of any size\n---\nFold along the line.\n";
    await workspace.write("AGENTS.md", instructions);
    await workspace.write(".agents/skills/demo/SKILL.md", skill);

    const { model } = await workspace.run([]);

    const context = model.context.join("\n");
    expect(context).toContain(instructions.trim());
    expect(context).toContain("demo: Folds paper boats of any size");
    const read = workspace.proxy.exchanges("fs/readFile");
    expect(read).toContainEqual([
      expect.objectContaining({ path: workspace.uri("AGENTS.md") }),
      { dataBase64: Buffer.from(instructions).toString("base64") },
    ]);
    expect(read).toContainEqual([
      expect.objectContaining({ path: workspace.uri(".agents/skills/demo/SKILL.md") }),
      { dataBase64: Buffer.from(skill).toString("base64") },
    ]);
    expect(workspace.proxy.exchanges("fs/walk")).toContainEqual([
      expect.objectContaining({ path: workspace.uri(".agents/skills") }),
      expect.objectContaining({ truncated: false, errors: [] }),
    ]);
  });

  it("runs a command and sees its output and exit code", async () => {
    await using workspace = await Workspace.open();
    await workspace.write("sub/here.txt", "");
    const { outputs } = await workspace.run([
      call("exec_command", {
        cmd: 'echo "$E2E_MARKER"; ls; echo "größer" >&2; exit 3',
        workdir: "sub",
        ...PATIENT,
      }),
      call("exec_command", { cmd: "true", ...PATIENT }),
    ]);
    const [first = "", second = ""] = outputs;
    expect(first).toContain("Process exited with code 3\n");
    expect(body(first).split("\n").toSorted()).toEqual(
      ["", "größer", "here.txt", workspace.serverMarker].toSorted(),
    );
    expect(second).toContain("Process exited with code 0\n");
    expect(body(second)).toBe("");
    expect(started(workspace.proxy).map(({ params }) => params?.["cwd"])).toEqual([
      workspace.uri("sub"),
      workspace.uri(""),
    ]);
  });

  it("types into a terminal and interrupts it", async () => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    const cmd =
      'test -t 0 && stty size; read -r name; echo "hello $name"; trap "echo interrupted; exit 42" INT; bash -c "echo waiting; exec sleep 1000"; echo slept';
    const { outputs } = await workspace.run([
      call("exec_command", { cmd, tty: true, ...BRIEF }),
      type(proxy, "24 80", "Ada\n", BRIEF),
      type(proxy, "waiting", CTRL_C, PATIENT),
    ]);
    expect(outputs.at(-1)).toContain("Process exited with code 42\n");
    // The terminal shows what is typed, and ^C for the key.
    expect(outputs.map(body).join("")).toBe("24 80\r\nAda\r\nhello Ada\r\nwaiting\r\n^Cinterrupted\r\n");
    expect(proxy.exchanges("process/write").map(([, result]) => result)).toEqual([
      { status: "accepted" },
      { status: "accepted" },
    ]);
    expect(proxy.requests("process/signal")).toEqual([]);
  });

  it("interrupts a command without a terminal, and its children", async () => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    // Bash runs the trap only when its child is gone: the signal has to reach both. The child says when it is there: one
    // that is just being forked would forget the signal with the trap.
    const cmd = 'trap "echo interrupted; exit 43" INT; bash -c "echo waiting; exec sleep 1000"; echo slept';
    const { outputs } = await workspace.run([
      call("exec_command", { cmd, ...BRIEF }),
      type(proxy, "waiting", CTRL_C, PATIENT),
    ]);
    expect(outputs.at(-1)).toContain("Process exited with code 43\n");
    expect(outputs.map(body).join("")).toBe("waiting\ninterrupted\n");
    expect(proxy.exchanges("process/signal")).toEqual([
      [{ processId: started(proxy)[0]?.params?.["processId"], signal: "interrupt" }, {}],
    ]);
  });

  it("ends at the end of its turn what it has left running", async () => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    await workspace.run([
      call("exec_command", { cmd: "sleep 1000 & echo $! > pid; echo started; wait", ...BRIEF }),
      async () => {
        await proxy.until(() => proxy.output.includes("started"), "the start of the command");
        return call("exec_command", { cmd: "true", ...PATIENT });
      },
    ]);
    const pid = Number(await workspace.read("pid"));
    await pollUntil(
      () => !isAlive(pid),
      DEADLINE_MS,
      () => `the end of process ${pid}`,
    );
    // A session whose client has left lives on for longer than the deadline: the client must have asked for it.
    expect(proxy.requests("process/terminate").map(({ params }) => params)).toContainEqual({
      processId: started(proxy)[0]?.params?.["processId"],
    });
  });

  it("adds, edits, moves and deletes files with a patch", async () => {
    await using workspace = await Workspace.open();
    await workspace.write("edit.txt", "one\ntwo\nthree\n");
    await workspace.write("old-name.txt", "alpha\nbeta\n");
    await workspace.write("gone.txt", "bye\n");
    const patch = [
      "*** Begin Patch",
      "*** Add File: new/deep/added.txt",
      "+grüße",
      "+second",
      "*** Update File: edit.txt",
      "@@",
      " one",
      "-two",
      "+TWO",
      " three",
      "*** Update File: old-name.txt",
      "*** Move to: moved/new-name.txt",
      "@@",
      " alpha",
      "-beta",
      "+BETA",
      "*** Delete File: gone.txt",
      "*** End Patch",
    ].join("\n");
    const { outputs } = await workspace.run([
      call("exec_command", { cmd: `apply_patch <<'PATCH'\n${patch}\nPATCH` }),
    ]);
    expect(outputs[0]).toContain("Exit code: 0\n");
    expect(await workspace.read("new/deep/added.txt")).toBe("grüße\nsecond\n");
    expect(await workspace.read("edit.txt")).toBe("one\nTWO\nthree\n");
    expect(await workspace.read("moved/new-name.txt")).toBe("alpha\nBETA\n");
    expect(await exists(workspace.path("old-name.txt"))).toBe(false);
    expect(await exists(workspace.path("gone.txt"))).toBe(false);
    const paths = (method: string) =>
      workspace.proxy.exchanges(method).map(([params]) => String(params["path"]));
    expect(paths("fs/writeFile").toSorted()).toEqual(
      ["edit.txt", "moved/new-name.txt", "new/deep/added.txt"].map((name) => workspace.uri(name)),
    );
    expect(paths("fs/remove").toSorted()).toEqual(
      ["gone.txt", "old-name.txt"].map((name) => workspace.uri(name)),
    );
    expect(paths("fs/createDirectory").toSorted()).toEqual(
      ["moved", "new/deep"].map((name) => workspace.uri(name)),
    );
    // The client did it all itself: a shell with its own apply_patch would prove nothing.
    expect(started(workspace.proxy)).toEqual([]);
  });

  it("patches and runs from a script of the model", async () => {
    await using workspace = await Workspace.open();
    const patch = "*** Begin Patch\n*** Add File: dir/said.txt\n+from a script\n*** End Patch\n";
    const script = [
      `await tools.apply_patch(${JSON.stringify(patch)});`,
      'const { output, exit_code } = await tools.exec_command({ cmd: "cat dir/said.txt; echo $E2E_MARKER; exit 5" });',
      "text(`[${exit_code}] ${output}`);",
    ].join("\n");
    const { outputs } = await workspace.run([customCall("exec", script)], { model: CODE_MODE_MODEL });
    expect(outputs[0]).toContain(`[5] from a script\n${workspace.serverMarker}\n`);
    expect(await workspace.read("dir/said.txt")).toBe("from a script\n");
    expect(workspace.proxy.exchanges("fs/writeFile").map(([params]) => params["path"])).toEqual([
      workspace.uri("dir/said.txt"),
    ]);
  });

  it("views an image", async () => {
    await using workspace = await Workspace.open();
    await workspace.write("dot.png", Buffer.from(ONE_PIXEL_PNG, "base64"));
    const { model } = await workspace.run([call("view_image", { path: "dot.png" })]);
    expect(model.outputs.map(({ imageUrls }) => imageUrls)).toEqual([
      [`data:image/png;base64,${ONE_PIXEL_PNG}`],
    ]);
    expect(workspace.proxy.exchanges("fs/readFile")).toContainEqual([
      expect.objectContaining({ path: workspace.uri("dot.png") }),
      { dataBase64: ONE_PIXEL_PNG },
    ]);
  });

  it("uses an MCP server that the environment starts", async () => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    const program = fileURLToPath(new URL("mcp-echo.mjs", import.meta.url));
    const { outputs } = await workspace.run([call("echo", { text: "ahoy" }, "mcp__echoing")], {
      // Without `cwd` the client leaves out a server of a remote environment, and says nothing.
      config: `[mcp_servers.echoing]
        command = ${toml(process.execPath)}
        args = ${toml([program])}
        cwd = ${toml(workspace.dir)}
        environment_id = "remote"
        startup_timeout_sec = 60
        required = true`,
    });
    expect(outputs[0]).toContain(`ahoy from ${workspace.dir}`);
    expect(proxy.requests("process/start").map(({ params }) => params?.["argv"])).toEqual([
      [process.execPath, program],
    ]);
    expect(proxy.output).toContain(`ahoy from ${workspace.dir}`);
  });

  it("reaches an MCP server over HTTP through the environment", async () => {
    await using mcp = await McpHttp.start();
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    const { outputs } = await workspace.run([call("shout", { text: "land ahoy" }, "mcp__shouting")], {
      config: `[mcp_servers.shouting]
        url = ${toml(mcp.url)}
        environment_id = "remote"
        startup_timeout_sec = 60
        required = true`,
    });
    expect(outputs[0]).toContain("LAND AHOY");
    await withDeadline(mcp.streamClosed, DEADLINE_MS, () => "the end of the stream that was left open");
    await pollUntil(
      () => mcp.requests.includes("DELETE"),
      DEADLINE_MS,
      () => "the end of the session",
    );
    expect(mcp.requests.toSorted()).toEqual([
      "DELETE",
      "GET",
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/call",
      "POST tools/list",
    ]);
    const asked = proxy.requests("http/request").map(({ params }) => String(params?.["method"]));
    expect(asked.toSorted()).toEqual(["DELETE", "GET", "POST", "POST", "POST", "POST"]);
  });

  it("loses nothing of a command that continues after the connection is cut", async () => {
    await using workspace = await Workspace.open();
    await using gate = await openGate(workspace);
    const { proxy } = workspace;
    const cmd =
      'count() { for i in $(seq "$1" "$2"); do echo "line $i"; done; }; count 1 300; read -r _ <gate; count 301 600; touch half; read -r _ <gate; count 601 900; exit 7';
    proxy.cutWithin(() => proxy.output.includes("line 300\n"));

    const meanwhile = async () => {
      await proxy.until(() => proxy.isCut && proxy.refused > 0, "a reconnect that is turned away");
      await gate.lift();
      await pollUntil(
        () => exists(workspace.path("half")),
        DEADLINE_MS,
        () => "lines written while cut off",
      );
      proxy.readmit();
      await proxy.until(() => proxy.exchanges("process/read").length > 0, "the client's catching up");
      await gate.lift();
    };
    const [{ outputs }] = await Promise.all([
      workspace.run([call("exec_command", { cmd, ...PATIENT })]),
      meanwhile(),
    ]);

    expect(outputs[0]).toContain("Process exited with code 7\n");
    expect(body(outputs[0] ?? "")).toBe(lines(1, 900));
    expectResumed(proxy);
  });

  it("learns the end of a command that ended while the connection was cut", async () => {
    await using workspace = await Workspace.open();
    await using gate = await openGate(workspace);
    const { proxy } = workspace;
    const cmd = "echo $$ > pid; seq -f 'line %g' 1 300; read -r _ <gate; seq -f 'line %g' 301 600; exit 8";
    proxy.cutWithin(() => proxy.output.includes("line 300\n"));

    const meanwhile = async () => {
      await proxy.until(() => proxy.isCut && proxy.refused > 0, "a reconnect that is turned away");
      await gate.lift();
      const pid = Number(await workspace.read("pid"));
      await pollUntil(
        () => !isAlive(pid),
        DEADLINE_MS,
        () => "the end of the command",
      );
      proxy.readmit();
    };
    const [{ outputs }] = await Promise.all([
      workspace.run([call("exec_command", { cmd, ...PATIENT })]),
      meanwhile(),
    ]);

    expect(outputs[0]).toContain("Process exited with code 8\n");
    expect(body(outputs[0] ?? "")).toBe(lines(1, 600));
    expectResumed(proxy);
  });

  it("starts a server of its own and talks to it on stdio", async () => {
    await using workspace = await Workspace.open();
    const [program, ...args] = [...workspace.serverCommand, "--listen", "stdio"];
    await workspace.write("AGENTS.md", "Mind the tides.\n");
    const { outputs, model } = await workspace.run(
      [
        call("exec_command", {
          cmd: "apply_patch <<'PATCH'\n*** Begin Patch\n*** Add File: log/book\n+fair wind\n*** End Patch\nPATCH",
        }),
        call("exec_command", { cmd: 'cat log/book; echo "$E2E_MARKER"; exit 9', ...PATIENT }),
      ],
      {
        environment: onlyEnvironment(
          `program = ${toml(program)}
          args = ${toml(args)}
          cwd = ${toml(workspace.dir)}
          env = { E2E_MARKER = ${toml(workspace.ownServerMarker)} }`,
        ),
      },
    );
    expect(model.context.join("\n")).toContain("Mind the tides.");
    expect(outputs[1]).toContain("Process exited with code 9\n");
    expect(body(outputs[1] ?? "")).toBe(`fair wind\n${workspace.ownServerMarker}\n`);
    expect(workspace.proxy.upgrades).toEqual([]);
  });

  describe("with a token", () => {
    const TOKEN = "open-sesame-0123456789";
    const serverArgs = [
      "--ws-auth",
      "capability-token",
      "--ws-token-sha256",
      createHash("sha256").update(TOKEN).digest("hex"),
    ];
    const entry = (url: string, token: string) =>
      onlyEnvironment(`url = ${toml(url)}\nauth_bearer_token = ${toml(token)}`);
    const step = call("exec_command", { cmd: "echo $E2E_MARKER", ...PATIENT });

    it("is let in with the right one", async () => {
      await using workspace = await Workspace.open(serverArgs);
      const { proxy } = workspace;
      const { outputs } = await workspace.run([step], { environment: entry(proxy.url, TOKEN) });
      expect(outputs[0]).toContain(`${workspace.serverMarker}\n`);
      expect(proxy.upgrades.map(({ response }) => response?.split("\r\n")[0])).toEqual([
        "HTTP/1.1 101 Switching Protocols",
      ]);
      expect(proxy.upgrades[0]?.request.toLowerCase()).toContain(`\r\nauthorization: bearer ${TOKEN}`);
    });

    it("does nothing with a wrong one", async () => {
      await using workspace = await Workspace.open(serverArgs);
      const { proxy } = workspace;
      const { outputs } = await workspace.run([step], { environment: entry(proxy.url, "wrong") });
      expect(outputs[0]).toContain("No usable execution environment is available");
      expect(new Set(proxy.upgrades.map(({ response }) => response?.split("\r\n")[0]))).toEqual(
        new Set(["HTTP/1.1 401 Unauthorized"]),
      );
      expect(proxy.messages).toEqual([]);
    });
  });
});

/** An entry of the client's environments file. With the local environment left in, the client would fall back on it. */
const onlyEnvironment = (fields: string): { toml: string } => ({
  toml: `default = "there"\ninclude_local = false\n[[environments]]\nid = "there"\n${fields}\n`,
});

/** A named pipe in the workspace that commands wait at, with `read -r _ <gate`. */
async function openGate(workspace: Workspace): Promise<AsyncDisposable & { lift(): Promise<void> }> {
  const path = workspace.path("gate");
  execFileSync("mkfifo", [path]);
  // Open for both: it does not wait for a reader, and what is written waits for one.
  const pipe = await open(path, "r+");
  return {
    lift: async () => {
      await pipe.write("\n");
    },
    [Symbol.asyncDispose]: () => pipe.close(),
  };
}

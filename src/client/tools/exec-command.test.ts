import { describe, expect, it, vi } from "vitest";
import { RpcError } from "../../base/errors.ts";
import { closed, exited, output, utf8 } from "../../../test/fixtures/fake-tool-host.ts";
import {
  after,
  endEvents,
  events,
  host,
  setUpTools,
  tools,
  useTools,
} from "../../../test/fixtures/tools-scene.ts";

setUpTools();

describe("exec_command", () => {
  it("returns output and exit code of a command that ends in time, and no session", async () => {
    host.script = [output("one\n"), output("two\n", "stderr"), exited(3), closed];
    const result = await after(0, tools.exec_command({ cmd: "make" }));
    expect(result).toEqual({
      output: "one\ntwo\n",
      exit_code: 3,
      command: "make",
      wall_time_seconds: 0,
      original_token_count: 2,
      omitted_tokens: 0,
      omitted_bytes: 0,
      notes: [],
    });
    expect(tools.list()).toEqual([]);
  });

  it("returns a session when the yield window is over", async () => {
    host.script = [output("starting\n")];
    const result = await after(10_000, tools.exec_command({ cmd: "npm  run\ndev" }));
    expect(result).toMatchObject({ output: "starting\n", session_id: 1, wall_time_seconds: 10 });
    expect(result).not.toHaveProperty("exit_code");
    expect(tools.list()).toMatchObject([
      { sessionId: 1, command: "npm run dev", running: true, cwd: "/srv/w d", tty: false, pendingBytes: 0 },
    ]);
  });

  it.each([
    [undefined, 10_000],
    [null, 10_000],
    [1000, 1000],
    [-5, 250],
    [0, 250],
    [99_999, 30_000],
  ])("takes a yield_time_ms of %s as %s", async (asked, used) => {
    await after(
      used,
      tools.exec_command({ cmd: "sleep 99", ...(asked === undefined ? {} : { yield_time_ms: asked }) }),
    );
  });

  it("gives the process the whole window, however long its start took", async () => {
    host.beforeStart = () => new Promise((resolve) => void setTimeout(resolve, 4000));
    const result = await after(5000, tools.exec_command({ cmd: "x", yield_time_ms: 1000 }));
    expect(result).toMatchObject({ session_id: 1, wall_time_seconds: 5 });
  });

  it("waits for trailing output after the exit", async () => {
    host.script = [exited(0)];
    const running = tools.exec_command({ cmd: "x" });
    await vi.advanceTimersByTimeAsync(3000);
    host.last.tell(output("late"), closed);
    expect(await after(0, running)).toMatchObject({ output: "late", exit_code: 0, notes: [] });
  });

  it("is not held by a background process beyond the window", async () => {
    host.script = [output("started\n"), exited(0)];
    const result = await after(1000, tools.exec_command({ cmd: "server &", yield_time_ms: 1000 }));
    expect(result).toMatchObject({ output: "started\n", exit_code: 0 });
    expect(result.notes[0]).toContain("A background process holds the output open");
    expect(result).not.toHaveProperty("session_id");
    expect(tools.list()).toEqual([]);
    expect(host.last.kills).toBe(0);
    expect(host.last.signal?.aborted).toBe(true);
    expect(endEvents()).toMatchObject([{ exitCode: 0, output: "started\n" }]);
  });

  it("runs cmd with the machine's login shell, in the server's directory, without stdin, colours and pagers", async () => {
    host.script = [exited(0), closed];
    await after(0, tools.exec_command({ cmd: "a | b" }));
    expect(host.started).toEqual([
      {
        argv: ["/bin/bash", "-lc", "a | b"],
        options: {
          cwd: "/srv/w d",
          env: { NO_COLOR: "1", TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat", GH_PAGER: "cat" },
          stdin: "none",
        },
        terminal: false,
      },
    ]);
  });

  it("runs what the options and the call say", async () => {
    useTools({
      cwd: "/repo/",
      shell: "/bin/zsh",
      env: { TERM: "xterm", A: "1" },
      terminalSize: { cols: 100, rows: 30 },
    });
    host.script = [exited(0), closed];
    await after(
      0,
      tools.exec_command({ cmd: "x", workdir: "pkg", login: false, tty: true, env: { A: "2" } }),
    );
    await after(0, tools.exec_command({ cmd: "x", shell: "fish", workdir: "/abs" }));
    await after(0, tools.exec_command({ argv: ["ls", "-l"] }));
    expect(host.started).toMatchObject([
      {
        argv: ["/bin/zsh", "-c", "x"],
        options: { cwd: "/repo/pkg", env: { TERM: "xterm", A: "2", NO_COLOR: "1" }, cols: 100, rows: 30 },
        terminal: true,
      },
      { argv: ["fish", "-lc", "x"], options: { cwd: "/abs" }, terminal: false },
      { argv: ["ls", "-l"], options: { cwd: "/repo/" } },
    ]);
    expect(host.started[0]?.options).not.toHaveProperty("stdin");
    useTools();
    await after(0, tools.exec_command({ cmd: "x", tty: true }));
    expect(host.started.at(-1)?.options).not.toHaveProperty("cols");
  });

  it("leaves out the login profile where the options say so, tells the model, and heeds a call that asks for it", async () => {
    useTools({ login: false, specKind: "prepared" });
    host.script = [exited(0), closed];
    await after(0, tools.exec_command({ cmd: "x" }));
    await after(0, tools.exec_command({ cmd: "x", login: true, tty: true }));
    expect(host.started).toMatchObject([
      { argv: ["/bin/bash", "-c", "x"], options: { specKind: "prepared" }, terminal: false },
      { argv: ["/bin/bash", "-lc", "x"], options: { specKind: "prepared" }, terminal: true },
    ]);
    const login = ["parameters", "properties", "login", "description"];
    expect(tools.definitions[0]).toHaveProperty(login, expect.stringMatching(/Default false\.$/));
    useTools();
    expect(tools.definitions[0]).toHaveProperty(login, expect.stringMatching(/Default true\.$/));
    await after(0, tools.exec_command({ cmd: "x" }));
    expect(host.started.at(-1)?.options).not.toHaveProperty("specKind");
  });

  it("falls back on /bin/sh, and leaves the directory to the server, when the server says nothing", async () => {
    host.environment = undefined;
    host.script = [exited(0), closed];
    await after(0, tools.exec_command({ cmd: "x" }));
    expect(host.started[0]?.argv).toEqual(["/bin/sh", "-lc", "x"]);
    expect(host.started[0]?.options).not.toHaveProperty("cwd");
    await expect(tools.exec_command({ cmd: "x", workdir: "here" })).rejects.toThrow(
      'workdir must be an absolute path, not "here"',
    );
  });

  it("cuts output to the tokens asked for and says how much is missing", async () => {
    host.script = [output("a".repeat(40)), output("z".repeat(40)), exited(0), closed];
    const result = await after(0, tools.exec_command({ cmd: "x", max_output_tokens: 4 }));
    expect(result).toMatchObject({
      output: "aaaaaaaa\n… about 16 tokens (64 bytes) omitted …\nzzzzzzzz",
      original_token_count: 20,
      omitted_tokens: 16,
      omitted_bytes: 64,
    });
  });

  it("returns 10000 tokens unless asked, and never more than the options allow", async () => {
    host.script = [output("a".repeat(100_000)), exited(0), closed];
    expect(await after(0, tools.exec_command({ cmd: "x" }))).toMatchObject({ omitted_bytes: 60_000 });
    useTools({ maxOutputTokens: 100 });
    expect(await after(0, tools.exec_command({ cmd: "x", max_output_tokens: 5000 }))).toMatchObject({
      omitted_bytes: 99_600,
    });
  });

  it("joins characters that pieces, the other stream or calls have split", async () => {
    const bytes = utf8.encode("ä😀");
    host.script = [output(bytes.subarray(0, 1)), output("-", "stderr"), output(bytes.subarray(1, 4))];
    expect(await after(250, tools.exec_command({ cmd: "x", yield_time_ms: 250 }))).toMatchObject({
      output: "-ä",
    });
    host.last.tell(output(bytes.subarray(4)));
    expect(await after(250, tools.write_stdin({ session_id: 1, yield_time_ms: 250 }))).toMatchObject({
      output: "😀",
    });
    host.last.tell(output(Uint8Array.of(0xc3)), exited(0), closed);
    expect(await after(0, tools.write_stdin({ session_id: 1 }))).toMatchObject({ output: "\ufffd" });
  });

  it("reports lost output once", async () => {
    host.script = [{ kind: "gap", fromSeq: 2, toSeq: 2 }];
    const { notes } = await after(250, tools.exec_command({ cmd: "x", yield_time_ms: 250 }));
    expect(notes).toHaveLength(1);
    expect(await after(5000, tools.write_stdin({ session_id: 1 }))).toMatchObject({ notes: [] });
  });

  it("reports output that was lost on the way, and a sandbox's refusal", async () => {
    host.script = [
      output("a"),
      { kind: "gap", fromSeq: 2, toSeq: 4 },
      { kind: "exited", exitCode: 1, sandboxDenied: true },
      closed,
    ];
    const { notes } = await after(0, tools.exec_command({ cmd: "x" }));
    expect(notes).toEqual([
      "Some output was lost with the connection (3 pieces or more).",
      "The sandbox blocked something that the command tried.",
    ]);
  });

  it("reports a failed start with its reason, without events and without a session", async () => {
    host.beforeStart = () => Promise.reject(new RpcError(-32603, "No such file or directory"));
    await expect(tools.exec_command({ argv: ["nope"] })).rejects.toThrow(
      "exec_command: nope was not started in /srv/w d: No such file or directory",
    );
    expect(events).toEqual([]);
    expect(tools.list()).toEqual([]);
  });

  it("returns what is known when the connection is lost", async () => {
    host.script = [output("half"), { kind: "failed", message: "the session was lost" }];
    const result = await after(0, tools.exec_command({ cmd: "x" }));
    expect(result).toMatchObject({ output: "half", failure: "the session was lost" });
    expect(result).not.toHaveProperty("exit_code");
    expect(result).not.toHaveProperty("session_id");
  });

  it("leaves the exit code out when the server did not say it", async () => {
    host.script = [exited(null), closed];
    const result = await after(0, tools.exec_command({ cmd: "x" }));
    expect(result).not.toHaveProperty("exit_code");
    expect(result).not.toHaveProperty("session_id");
  });
});

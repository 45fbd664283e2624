import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isAlive } from "../../test/fault/proc-fs.ts";
import { temporaryDirectory } from "../../test/fixtures/temporary-directory.ts";
import { silentLogger } from "../base/logger.ts";
import { startChild } from "./child.ts";
import type { ChildCommand } from "./child-command.ts";
import { ownGroup } from "./process-group.ts";

/** Starts a shell script, whose lines must be JSON, and opens the transport. */
async function run(script: string, options: Partial<ChildCommand> = {}) {
  const transport = await startChild({
    command: ["/bin/sh", "-c", script],
    logger: silentLogger,
    ...options,
  });
  const messages: unknown[] = [];
  let wake = (): void => {};
  const closed = new Promise<string | undefined>((resolve) =>
    transport.open({
      message: (text) => {
        messages.push(JSON.parse(text));
        wake();
      },
      drain: () => {},
      close: resolve,
    }),
  );
  onTestFinished(() => transport.destroy());
  const next = async (): Promise<unknown> => {
    while (messages.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return messages.shift();
  };
  return { transport, closed, next };
}

const ended = (pid: number) => expect.poll(() => isAlive(pid), { interval: 5 }).toBe(false);

/** Sets variables of this program until the end of the test. */
function setVariables(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

describe("the environment of a command", () => {
  const names = ["CHILD_KEPT", "CHILD_CHANGED", "CHILD_REMOVED", "CHILD_ADDED"];
  const script = `printf '["%s","%s","%s","%s"]\\n' ${names.map((name) => `"\${${name}-unset}"`).join(" ")}; cat`;

  it("is that of this program by default", async () => {
    setVariables({ CHILD_KEPT: "kept", CHILD_CHANGED: "before", CHILD_REMOVED: "here" });
    const { next } = await run(script);
    expect(await next()).toEqual(["kept", "before", "here", "unset"]);
  });

  it("has `env` added to it, without the variables that are undefined there", async () => {
    setVariables({ CHILD_KEPT: "kept", CHILD_CHANGED: "before", CHILD_REMOVED: "here" });
    const env = { CHILD_CHANGED: "after", CHILD_REMOVED: undefined, CHILD_ADDED: "new" };
    const { next } = await run(script, { env });
    expect(await next()).toEqual(["kept", "after", "unset", "new"]);
  });
});

describe("a command that cannot be started", () => {
  it.each<[string, Partial<ChildCommand>, string]>([
    ["no program", { command: [] as never }, "command is empty: it needs at least a program"],
    ["a string", { command: "cat" as never }, "command must be an array of a program and its arguments"],
    ["an argument with a NUL", { command: ["cat", "a\0b"] }, "command contains a NUL"],
    ["a directory with a NUL", { cwd: "/a\0b" }, "cwd contains a NUL"],
    ["a value with a NUL", { env: { SECRET: "a\0b" } }, "SECRET in env contains a NUL"],
    ["a value that is not text", { env: { A: 1 as never } }, "A in env must be text, not number"],
    ["a name with a NUL", { env: { "A\0": "" } }, "the name of a variable in env contains a NUL"],
  ])("because of %s is a mistake of the caller", async (_, options, message) => {
    await expect(run("cat", options)).rejects.toMatchObject({ code: "USAGE", message });
  });

  it("because its environment is too long says so like any other", async () => {
    await expect(run("cat", { env: { LONG: "x".repeat(4 * 1024 * 1024) } })).rejects.toMatchObject({
      code: "SPAWN_FAILED",
      errno: "E2BIG",
      reason: "limit",
      message: "failed to start /bin/sh: spawn E2BIG",
    });
  });
});

describe("a command whose transport is closed", () => {
  it("ends with everything in its process group", async () => {
    const { transport, next } = await run("sleep 60 & echo [$$,$!]; cat");
    const [command, background] = (await next()) as [number, number];
    transport.close();
    await ended(command);
    await ended(background);
  });

  it("ends alone if it shares the terminal", async () => {
    const { transport, next } = await run("sleep 60 & echo [$$,$!]; cat", { sharesTerminal: true });
    const [command, background] = (await next()) as [number, number];
    onTestFinished(() => void process.kill(background));
    transport.close();
    await ended(command);
    expect(isAlive(background)).toBe(true);
  });
});

describe("on Windows, a command whose transport is closed", () => {
  /** A program in the place of Windows' own, which notes its arguments; `script` is what else it does. */
  function pretendWindows(script: string | undefined): { calls: () => string[] } {
    const root = temporaryDirectory();
    const calls = join(root, "calls");
    if (script !== undefined) {
      const program = join(root, "System32", "taskkill.exe");
      mkdirSync(join(root, "System32"));
      writeFileSync(program, `#!/bin/sh\necho "$@" >> ${calls}\n${script}\n`);
      chmodSync(program, 0o755);
    }
    setVariables({ SystemRoot: root });
    const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
    Object.defineProperty(process, "platform", { ...platform, value: "win32" });
    onTestFinished(() => void Object.defineProperty(process, "platform", platform));
    return { calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").split("\n").slice(0, -1) : []) };
  }

  it("is ended with its descendants by taskkill", async () => {
    const { calls } = pretendWindows('kill -KILL "$2"');
    const { transport, next } = await run("echo $$; exec sleep 60");
    const pid = (await next()) as number;
    transport.close();
    await ended(pid);
    expect(calls()).toEqual([`/PID ${pid} /T /F`]);
  });

  it.each([
    ["does not exist", undefined],
    ["fails", "exit 128"],
  ])("is ended alone if taskkill %s", async (_, script) => {
    const { calls } = pretendWindows(script);
    const { transport, next } = await run("echo $$; exec sleep 60");
    const pid = (await next()) as number;
    transport.close();
    await ended(pid);
    expect(calls()).toHaveLength(script === undefined ? 0 : 1);
  });

  it("is left alone if it has ended, because its id may be another's", async () => {
    const { calls } = pretendWindows("");
    const { transport, closed } = await run("exit 3");
    expect(await closed).toBe("/bin/sh exited with status 3");
    transport.close();
    // A program that was started meanwhile has written its line by then.
    await (await run("exit 0")).closed;
    expect(calls()).toEqual([]);
  });

  it("has no process group, for which a console window would open", () => {
    expect(ownGroup()).toEqual({ detached: true, windowsHide: true });
    pretendWindows(undefined);
    expect(ownGroup()).toEqual({ detached: false, windowsHide: true });
  });
});

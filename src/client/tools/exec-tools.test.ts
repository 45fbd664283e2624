import { describe, expect, it } from "vitest";
import { closed, exited, output } from "../../../test/fixtures/fake-tool-host.ts";
import { after, host, setUpTools, tools, useTools } from "../../../test/fixtures/tools-scene.ts";
import { UsageError } from "../../base/errors.ts";
import type { FunctionTool } from "./function-tool.ts";

setUpTools();

describe("call", () => {
  it("runs a tool by name, with arguments or their JSON text, and renders the result", async () => {
    host.script = [output("hello\n"), exited(0), closed];
    const expected = "Exit code: 0\nWall time: 0.00 s\nOutput:\nhello\n";
    expect(await after(0, tools.call("exec_command", { cmd: "x" }))).toMatchObject({
      text: expected,
      isError: false,
    });
    expect(await after(0, tools.call("exec_command", '{"cmd":"x"}'))).toMatchObject({ text: expected });
  });

  it("gives a model's mistakes back as text", async () => {
    expect(await tools.call("write_stdin", { session_id: 4 })).toEqual({
      text: "there is no session 4; no session is open",
      isError: true,
    });
    expect(await tools.call("exec_command", "{")).toMatchObject({ isError: true });
    expect(await tools.call("rm", {})).toEqual({
      text: 'there is no tool "rm"; there are exec_command and write_stdin',
      isError: true,
    });
  });

  it("offers and calls the tools of the caller", async () => {
    const calls: unknown[] = [];
    const parameters = { type: "object", properties: {} } as const;
    const add: FunctionTool = {
      definition: { type: "function", name: "add", description: "Adds.", strict: false, parameters },
      call: async (args, { callId }) => {
        calls.push([args, callId]);
        if (args === "{") throw new UsageError("add: no numbers");
        return { text: "3", isError: false };
      },
    };
    useTools({ more: [add] });
    expect(tools.definitions.map(({ name }) => name)).toEqual(["exec_command", "write_stdin", "add"]);
    expect(await tools.call("add", { a: 1 }, { callId: "c" })).toEqual({ text: "3", isError: false });
    expect(calls).toEqual([[{ a: 1 }, "c"]]);
    expect(await tools.call("add", "{")).toEqual({ text: "add: no numbers", isError: true });
    expect((await tools.call("rm", {})).text).toMatch(/there are exec_command, write_stdin and add$/);
    expect(() => useTools({ more: [add, add] })).toThrow('there are two tools called "add"');
  });

  it.each(["exec_command", "write_stdin"])("answers deep arguments of %s as a mistake", async (name) => {
    const text = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const deep: unknown = JSON.parse(text);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    const members = [
      { cmd: deep },
      { argv: [deep] },
      { env: { A: deep } },
      { session_id: deep },
      { other: deep },
    ];
    const wrong = [deep, text, cyclic, 5n, ...members, { cmd: cyclic }, { cmd: 5n }, { cmd: () => {} }];
    for (const args of wrong) {
      const { isError, text } = await tools.call(name, args);
      expect(isError).toBe(true);
      expect(text.length).toBeLessThan(300);
    }
  });

  it("says that the server names no shell, where a command line needs one", async () => {
    host.environment = {};
    host.script = [exited(0), closed];
    expect(await tools.call("exec_command", { cmd: "x" })).toEqual({
      text: "exec_command: the server does not report a shell; pass one as shell, or argv instead of cmd",
      isError: true,
    });
    expect(await after(0, tools.call("exec_command", { argv: ["x"] }))).toMatchObject({ isError: false });
    expect(await after(0, tools.call("exec_command", { cmd: "x", shell: "sh" }))).toMatchObject({
      isError: false,
    });
  });

  it("does not take a fault of the program for a mistake of the model", async () => {
    host.beforeStart = () => Promise.reject(new TypeError("bug"));
    await expect(tools.call("exec_command", { cmd: "x" })).rejects.toThrow(TypeError);
  });
});

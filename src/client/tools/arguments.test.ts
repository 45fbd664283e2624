import { describe, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { parseExecCommandArgs, parseWriteStdinArgs } from "./arguments.ts";
import { execToolDefinitions, type ToolParameter, toAnthropicTools } from "./definitions.ts";

const parsers = { exec_command: parseExecCommandArgs, write_stdin: parseWriteStdinArgs };
const needed = { exec_command: { cmd: "x" }, write_stdin: { session_id: 1 } };

/** A value that fits each type, and some that do not. */
const samples: Record<ToolParameter["type"], { good: unknown; bad: unknown[]; wanted: string }> = {
  string: { good: "x", bad: [1, ["x"], {}], wanted: "a string" },
  boolean: { good: true, bad: ["true", 1], wanted: "true or false" },
  number: { good: 300, bad: ["300", Number.NaN, Number.POSITIVE_INFINITY], wanted: "a number" },
  integer: { good: 7, bad: [1.5, "7", true], wanted: "a whole number" },
  array: { good: ["ls"], bad: ["ls", [1], { 0: "ls" }], wanted: "a list of strings" },
  object: { good: { A: "1" }, bad: [{ A: 1 }, ["A"], "A=1"], wanted: "an object whose values are strings" },
};

const parameters = execToolDefinitions.flatMap(({ name, parameters }) =>
  Object.entries(parameters.properties).map(([key, { type }]) => ({ name, key, type })),
);

describe("arguments", () => {
  it.each(parameters)("$name takes $key as the schema says, and nothing else", ({ name, key, type }) => {
    const { good, bad, wanted } = samples[type];
    const base = key === "argv" || key === "cmd" ? {} : needed[name];
    expect(parsers[name]({ ...base, [key]: good })).toMatchObject({ [key]: good });
    for (const value of bad) {
      const parse = (): unknown => parsers[name]({ ...base, [key]: value });
      expect(parse).toThrow(UsageError);
      expect(parse).toThrow(`${name}: ${key} must be ${wanted}`);
    }
    if (key !== "session_id")
      expect(parsers[name]({ ...needed[name], [key]: null, ...needed[name] })).toBeDefined();
  });

  it("may be given as JSON text", () => {
    expect(parseWriteStdinArgs('{"session_id":3,"chars":"y\\n"}')).toEqual({ session_id: 3, chars: "y\n" });
    expect(() => parseWriteStdinArgs("{session_id:3}")).toThrow("write_stdin: the arguments are not JSON: ");
  });

  it.each([[undefined], [null], [7], [[]], ["[]"]])("that are no object are refused: %s", (args) => {
    expect(() => parseExecCommandArgs(args)).toThrow("exec_command: the arguments must be an object, not ");
  });

  it("with an unknown name are refused with the names there are", () => {
    expect(() => parseWriteStdinArgs({ session_id: 1, input: "x" })).toThrow(
      'write_stdin: there is no argument "input"; it takes session_id, chars, yield_time_ms, max_output_tokens',
    );
    expect(() => parseWriteStdinArgs({ session_id: 1, constructor: "x" })).toThrow("there is no argument");
  });

  it.each([
    [{}, "cmd is missing"],
    [{ cmd: "  " }, "cmd is missing"],
    [{ cmd: null }, "cmd is missing"],
    [{ cmd: "ls", argv: ["ls"] }, "cmd and argv exclude each other"],
    [{ argv: [] }, "argv must begin with the program"],
    [{ argv: [""] }, "argv must begin with the program"],
    [{ argv: ["ls"], login: false }, "shell and login need cmd"],
    [{ cmd: "ls", max_output_tokens: 0 }, "max_output_tokens must be a whole number of at least 1, not 0"],
  ])("of exec_command that make no sense are refused: %j", (args, message) => {
    expect(() => parseExecCommandArgs(args)).toThrow(`exec_command: ${message}`);
  });

  it("of write_stdin need a session", () => {
    expect(() => parseWriteStdinArgs({ chars: "" })).toThrow("write_stdin: session_id is missing");
    expect(() => parseWriteStdinArgs({ session_id: null })).toThrow("write_stdin: session_id is missing");
  });
});

describe("definitions", () => {
  it("name both tools and describe every parameter", () => {
    expect(execToolDefinitions.map(({ type, name }) => [type, name])).toEqual([
      ["function", "exec_command"],
      ["function", "write_stdin"],
    ]);
    for (const { description, parameters } of execToolDefinitions) {
      expect(description).not.toBe("");
      for (const parameter of Object.values(parameters.properties))
        expect(parameter.description).not.toBe("");
    }
  });

  it("have a form for Anthropic's API", () => {
    const [tool] = toAnthropicTools();
    expect(Object.keys(tool ?? {})).toEqual(["name", "description", "input_schema"]);
    expect(tool?.input_schema).toBe(execToolDefinitions[0]?.parameters);
  });
});

import { Script } from "node:vm";
import { expect, it } from "vitest";
import { extractProgram, joinProgram } from "./program-text.ts";

const LAUNCHER = "#!/usr/bin/env node\n(() => {\n})();";
const PROGRAM = 'const pattern = /a*/; // */ in a comment\nconst text = "*/ /* */";\n`*/`';

it("gives back the program as it was put in", () => {
  const { bytes } = extractProgram(Buffer.from(joinProgram(LAUNCHER, PROGRAM)));
  expect(bytes.toString("latin1")).toBe(PROGRAM);
});

it("leaves every line and column of the program where the file has it", () => {
  const file = joinProgram(LAUNCHER, PROGRAM);
  const { line } = extractProgram(Buffer.from(file));
  const lines = file.split("\n");
  PROGRAM.split("\n").forEach((text, index) => {
    expect(lines[line + index]?.length).toBe(text.length);
  });
  expect(lines[line]).toContain("const pattern");
});

it("hides the program from whoever compiles the file", () => {
  const file = joinProgram("1 + 1;", "throw new Error(/a*/)");
  expect(new Script(file).runInThisContext()).toBe(2);
});

it("refuses a program that its file could not give back", () => {
  expect(() => joinProgram(LAUNCHER, '"\u0001"')).toThrow("cannot hold");
  expect(() => joinProgram(LAUNCHER, '"\u00e9"')).toThrow("cannot hold");
  expect(() => joinProgram("`\n/*\n`", "1")).toThrow("looks as if the program began in it");
});

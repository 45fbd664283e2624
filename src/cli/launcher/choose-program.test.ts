import { expect, test } from "vitest";
import { chooseProgram } from "./choose-program.ts";

const wordsOf = (line: string): string[] => line.split(" ").filter((word) => word !== "");

test.each([
  "",
  "serve",
  "help serve",
  "doctor",
  "sandbox",
  "--listen",
  "--listen=stdio",
  "--hosts",
  "-V",
  "--stdio",
])("'%s' is for the server's program", (first) =>
  expect(chooseProgram(wordsOf(first), false)).toBe("program.js"),
);

test.each([
  "run",
  "ps",
  "no-such-command",
  "-H",
  "-Hname",
  "--host=name",
  "--url",
  "--debug",
  "--help",
  "-h",
  "help",
  "help run",
  "help --help",
  "help -V",
])("'%s' is for the client's program", (first) =>
  expect(chooseProgram(wordsOf(first), false)).toBe("client.js"),
);

test("in a terminal, no word at all is for the client's program", () => {
  expect(chooseProgram([], true)).toBe("client.js");
  expect(chooseProgram(["--listen", "ws://127.0.0.1:0"], true)).toBe("program.js");
});

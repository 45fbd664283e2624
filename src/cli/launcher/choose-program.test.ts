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
])("'%s' is for the server's program", (first) => expect(chooseProgram(wordsOf(first))).toBe("program.js"));

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
])("'%s' is for the client's program", (first) => expect(chooseProgram(wordsOf(first))).toBe("client.js"));

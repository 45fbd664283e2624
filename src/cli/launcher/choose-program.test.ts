import { expect, test } from "vitest";
import { chooseProgram } from "./choose-program.ts";

test.each([
  undefined,
  "serve",
  "doctor",
  "sandbox",
  "--listen",
  "--listen=stdio",
  "--hosts",
  "-V",
  "--stdio",
])("%s is for the server's program", (first) => expect(chooseProgram(first)).toBe("program.js"));

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
])("%s is for the client's program", (first) => expect(chooseProgram(first)).toBe("client.js"));

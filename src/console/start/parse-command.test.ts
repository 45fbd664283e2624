import { expect, test } from "vitest";
import { commandLine, shortCommand } from "../ui/command-line.ts";
import { faultOfName, parseCommand, suggestName } from "./parse-command.ts";

test.each([
  ["npm test", ["npm", "test"]],
  [`git commit -m "two words" 'a "b"'`, ["git", "commit", "-m", "two words", 'a "b"']],
  [String.raw`echo a\ b "c\"d" "e\f"`, ["echo", "a b", 'c"d', String.raw`e\f`]],
  [`printf '' ""x`, ["printf", "", "x"]],
  ["  spaced \t out ", ["spaced", "out"]],
  ["", []],
])("%j is %j, without a shell", (line, argv) => {
  expect(parseCommand(line)).toEqual({ argv, shellPart: undefined, openQuote: undefined });
});

test.each([
  ["a | b", "|"],
  ["a && b", "&"],
  ["echo $HOME", "$"],
  ['echo "$HOME"', "$"],
  ["ls *.txt", "*"],
  ["cd ~/x", "~"],
  ["A=1 make", "A="],
  ["make # all", "#"],
])("%j needs a shell, because of %s", (line, part) => {
  expect(parseCommand(line).shellPart).toBe(part);
});

test.each(["echo '$HOME | x'", String.raw`echo \$x`, "a~b --x=y#z", "echo 'a=b'"])(
  "%j needs no shell",
  (line) => {
    expect(parseCommand(line).shellPart).toBeUndefined();
  },
);

test("a quote that is open is reported", () => {
  expect(parseCommand("echo 'a").openQuote).toBe("'");
  expect(parseCommand('echo "a').openQuote).toBe('"');
});

test("what is shown as a command line is the same command when it is typed", () => {
  const argv = ["a b", "it's", "", "$HOME", "x=y", "-n", '"'];
  expect(parseCommand(commandLine(argv))).toMatchObject({ argv, shellPart: undefined });
  expect(shortCommand(["/bin/bash", "-c", "echo hi"])).toBe("echo hi");
  expect(shortCommand(["/bin/bash", "-c", "echo hi", "sh"])).toBe("/bin/bash -c 'echo hi' sh");
});

test.each([
  ["/usr/bin/make all", "make"],
  ["A=1 sudo make", "make"],
  ["for i in 1", "script"],
  ["./-odd/.name", "name"],
  ["文件", "process"],
  ["taken", "taken-3"],
])("%s suggests the name %s", (line, name) => {
  const suggested = suggestName(line.split(" "), new Set(["taken", "taken-2"]));
  expect(suggested).toBe(name);
  expect(faultOfName(suggested)).toBeUndefined();
});

test.each(["", "a b", "-a", "ä", "x".repeat(129)])("%j is no name", (name) => {
  expect(faultOfName(name)).toBeDefined();
});

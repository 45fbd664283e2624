import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { createExecTools } from "../../src/client/tools/exec-tools.ts";
import { fileTools } from "../../src/rows/agents/file-tools.ts";
import { createServer } from "../../src/server/serve/server.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";

const server = createServer({ environment: { PATH: SERVER_PATH } });
let directory: string;

beforeEach(() => {
  // Not under /tmp, which is writable in every sandbox.
  directory = mkdtempSync("/var/tmp/exec-server-file-tools-");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const at = (name: string): string => join(directory, name);
const lines = (count: number): string => Array.from({ length: count }, (_, n) => `line ${n + 1}\n`).join("");

/** Calls a tool as a model would. */
async function call(name: string, args: object, { confined = false, cwd = true } = {}) {
  await using host = await connect(server);
  const files = confined ? host.files.within("workspace-write", { cwd: directory }) : host.files;
  await using tools = createExecTools(host, { more: fileTools(files, cwd ? directory : undefined) });
  const { text, isError } = await tools.call(name, JSON.stringify(args));
  return isError ? { error: text } : text;
}

it("a file is written with its directories, read and edited", async () => {
  const path = "src/new/a.txt";
  expect(await call("write_file", { path, content: "one\ntwö\n" })).toBe(`Wrote 9 bytes to ${at(path)}`);
  expect(await call("read_file", { path: at(path) })).toBe("one\ntwö\n");
  expect(await call("edit_file", { path, old_text: "three", new_text: "" })).toEqual({
    error: expect.stringContaining("does not contain old_text") as string,
  });
  expect(await call("edit_file", { path, old_text: "twö", new_text: "$& two" })).toBe(`Edited ${at(path)}`);
  expect(readFileSync(at(path), "utf8")).toBe("one\n$& two\n");
});

it("a part of a file is read by its lines", async () => {
  writeFileSync(at("long.txt"), lines(3_000));
  const read = (args: object) => call("read_file", { path: "long.txt", ...args });
  expect(await read({ offset: 2_999, limit: 10 })).toBe("line 2999\nline 3000\n");
  expect(await read({ offset: 2, limit: 2 })).toBe("line 2\nline 3\n(lines 2 to 3 of 3000)");
  expect(await read({ limit: 5_000 })).toMatch(/line 2000\n\(lines 1 to 2000 of 3000\)$/);
  expect(await read({ offset: 3_001 })).toBe("");
});

it("what a model gets of a file is bounded", async () => {
  writeFileSync(at("wide.txt"), `${"x".repeat(30_000)}\n`.repeat(3));
  expect(await call("read_file", { path: "wide.txt" })).toHaveLength(30_001 + "(lines 1 to 1 of 3)".length);
  writeFileSync(at("line.txt"), "x".repeat(50_000));
  expect(await call("read_file", { path: "line.txt" })).toBe(
    "Line 1 has 50000 characters, which is too long to be shown; use exec_command",
  );
  writeFileSync(at("huge.txt"), Buffer.alloc(9 * 1024 * 1024, "x\n"));
  expect(await call("read_file", { path: "huge.txt" })).toEqual({
    error: expect.stringContaining("huge.txt") as string,
  });
});

it("a directory is listed", async () => {
  expect(await call("list_dir", {})).toBe("The directory is empty.");
  mkdirSync(at("sub"));
  writeFileSync(at("a.txt"), "");
  expect(await call("list_dir", {})).toBe("a.txt\nsub/");
  expect(await call("list_dir", { path: "sub" })).toBe("The directory is empty.");
});

it.each<[string, object, string]>([
  ["read_file", { path: "none.txt" }, "none.txt"],
  ["read_file", { path: "bytes" }, "bytes is not a UTF-8 text file; use exec_command"],
  ["read_file", { path: "twice.txt", offset: 0 }, "offset must be a whole number of at least 1"],
  ["read_file", {}, "read_file: path is missing"],
  ["write_file", { path: "twice.txt/below", content: "" }, "twice.txt"],
  ["edit_file", { path: "twice.txt", old_text: "a", new_text: "b" }, "twice.txt contains old_text 2 times"],
  ["edit_file", { path: "twice.txt", old_text: "", new_text: "b" }, "old_text is empty"],
  ["list_dir", { path: "twice.txt" }, "twice.txt"],
])("a mistake is given back to the model: %s %j", async (name, args, error) => {
  writeFileSync(at("bytes"), Buffer.from([0xff, 0xfe]));
  writeFileSync(at("twice.txt"), "a a");
  expect(await call(name, args)).toEqual({ error: expect.stringContaining(error) as string });
  expect(readFileSync(at("twice.txt"), "utf8")).toBe("a a");
});

it("a relative path needs a default directory", async () => {
  expect(await call("read_file", { path: "a.txt" }, { cwd: false })).toEqual({
    error: 'read_file: path must be an absolute path, not "a.txt"',
  });
});

it("files outside of the sandbox are read, but not written", async () => {
  const outside = `${directory}-outside.txt`;
  writeFileSync(outside, "mine\n");
  try {
    expect(await call("read_file", { path: outside }, { confined: true })).toBe("mine\n");
    const written = await call("write_file", { path: outside, content: "yours" }, { confined: true });
    expect(written).toEqual({ error: expect.stringContaining("outside.txt") as string });
    expect(readFileSync(outside, "utf8")).toBe("mine\n");
    expect(await call("write_file", { path: "in.txt", content: "x" }, { confined: true })).toContain("Wrote");
  } finally {
    rmSync(outside);
  }
});

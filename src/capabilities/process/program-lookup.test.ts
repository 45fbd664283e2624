import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { findProgram, findTerminalProgram } from "./program-lookup.ts";

/** Directories in which `tool` is a program, a file that may not be executed, a directory, and missing. */
let root: string;
const at = (name: string): string => join(root, name);

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "lookup-"));
  for (const name of ["program", "other", "plain", "directory/tool", "empty"])
    mkdirSync(at(name), { recursive: true });
  for (const name of ["program", "other", "plain"]) {
    writeFileSync(at(`${name}/tool`), "");
    chmodSync(at(`${name}/tool`), name === "plain" ? 0o644 : 0o755);
  }
  return () => rmSync(root, { recursive: true });
});

const pathOf = (...names: string[]): string => names.map(at).join(":");

describe.each([
  ["findProgram", findProgram],
  ["findTerminalProgram", findTerminalProgram],
])("%s", (_, find) => {
  it("takes the first program on the PATH, and passes by what is none", async () => {
    expect(await find("tool", pathOf("empty", "program", "other"), "/")).toBe(at("program/tool"));
    expect(await find("tool", pathOf("plain", "directory", "other"), "/")).toBe(at("other/tool"));
    expect(await find("tool", `${pathOf("program")}/`, "/")).toBe(at("program/tool"));
  });

  it("leaves a name with a slash to the system", async () => {
    for (const name of ["./tool", "/no/such/tool"]) expect(await find(name, "/usr/bin", "/")).toBe(name);
  });

  it("takes relative entries, and empty ones, from the directory of the program", async () => {
    expect(await find("tool", "empty:program", root)).toBe("program/tool");
    expect(await find("tool", ":/usr/bin", at("program"))).toBe("./tool");
    expect(await find("tool", "other", Buffer.from(root))).toBe("other/tool");
    await expect(find("tool", "plain:directory:empty", root)).rejects.toThrow();
  });

  it("lets other work pass during a long search", async () => {
    // A clock that runs so fast that each entry takes a slice.
    let clock = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (clock += 2));
    onTestFinished(() => void vi.restoreAllMocks());
    let turns = 0;
    let timer = setImmediate(function count() {
      turns += 1;
      timer = setImmediate(count);
    });
    expect(await find("tool", pathOf("1", "2", "3", "4", "program"), "/")).toBe(at("program/tool"));
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(3);
  });
});

it("a program that is not found is missing, or may not be executed", async () => {
  const missing = { errno: "ENOENT" };
  const denied = { errno: "EACCES" };
  await expect(findProgram("tool", pathOf("empty"), "/")).rejects.toMatchObject(missing);
  await expect(findProgram("tool", "", "/")).rejects.toMatchObject(missing);
  await expect(findProgram("tool", pathOf("plain", "empty"), "/")).rejects.toMatchObject(denied);
  await expect(findProgram("tool", pathOf("directory", "empty"), "/")).rejects.toMatchObject(denied);
  await expect(findProgram("x".repeat(256), pathOf("empty"), "/")).rejects.toMatchObject({
    errno: "ENAMETOOLONG",
  });
  await expect(findProgram("x".repeat(255), pathOf("empty"), "/")).rejects.toMatchObject(missing);
  await expect(findProgram("to\0ol", pathOf("empty"), "/")).rejects.toMatchObject({ code: "INVALID_INPUT" });
});

it("without a PATH, programs are looked for where systems have them, but not for a terminal", async () => {
  expect(await findProgram("sh", undefined, "/")).toMatch(/^\/(usr\/local\/)?(usr\/)?bin\/sh$/);
  await expect(findTerminalProgram("sh", undefined, "/")).rejects.toMatchObject({
    code: "NOT_FOUND",
    errno: "ENOENT",
    message: "Unable to spawn sh because:\nUnable to resolve the PATH",
  });
});

it("a failed search for a terminal says what was found, and where", async () => {
  const path = pathOf("plain", "directory", "empty");
  await expect(findTerminalProgram("tool", path, "/")).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: [
      "Unable to spawn tool because:",
      `${at("plain/tool")} exists but is not executable.`,
      `${at("directory/tool")} exists but is a directory.`,
      `No viable candidates found in PATH ${JSON.stringify(path)}`,
    ].join("\n"),
  });
  await expect(findTerminalProgram("x".repeat(256), path, "/")).rejects.toThrow("No viable candidates");
});

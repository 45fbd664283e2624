import { describe, expect, it } from "vitest";
import { looksDenied } from "./sandbox-denied.ts";

function denied(exitCode: number, ...texts: string[]): boolean {
  return looksDenied(exitCode, () =>
    texts.map((text, index) => ({
      seq: index + 1,
      stream: index % 2 === 0 ? "stdout" : "stderr",
      bytes: Buffer.from(text),
    })),
  );
}

describe("a failure looks denied", () => {
  it.each([
    "Operation not permitted",
    "PERMISSION DENIED",
    "touch: x: Read-only file system",
    "bad seccomp",
    "in the sandbox",
    "Landlock",
    "failed to write file",
  ])("if its output says %j", (text) => {
    expect(denied(1, text)).toBe(true);
    expect(denied(2, text)).toBe(true);
    expect(denied(127, text)).toBe(true);
  });

  it("if a sign is spread over chunks and streams", () => {
    expect(denied(1, "x: permission ", "den", "ied")).toBe(true);
  });

  it("if the filter of system calls ended it", () => {
    expect(denied(159)).toBe(true);
  });

  it("not if it succeeded, or says nothing of the kind", () => {
    expect(denied(0, "permission denied")).toBe(false);
    expect(denied(1, "no such file")).toBe(false);
    expect(denied(101)).toBe(false);
  });
});

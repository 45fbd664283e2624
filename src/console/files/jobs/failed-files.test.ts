import { expect, test } from "vitest";
import { FileError } from "../../../client/browser.ts";
import { FailedFiles } from "./failed-files.ts";

const failure = (path: string, errno: string): FileError =>
  new FileError("OS_ERROR", `write ${path}: it failed`, { path, errno, rpcCode: -32603 });

test("faults of single names are reported when the rest is done", () => {
  const failed = new FailedFiles(9);
  failed.throwIfAny();
  failed.add(failure("/a", "EISDIR"));
  expect(() => failed.throwIfAny()).toThrow("1 of 9 failed: write /a: it failed");
  failed.add(failure("/b", "EACCES"));
  // This one was not even sent.
  failed.add(new FileError("INVALID_INPUT", "write /c: not a regular file", { path: "/c" }));
  expect(() => failed.throwIfAny()).toThrow("3 of 9 failed: write /a: it failed, and 2 more");
});

test("the fault of the only file is reported verbatim", () => {
  const failed = new FailedFiles(1);
  const error = failure("/a", "EISDIR");
  failed.add(error);
  expect(() => failed.throwIfAny()).toThrow(error);
});

test.each([failure("/a", "ENOSPC"), failure("/a", "EROFS"), new Error("the connection is lost")])(
  "%s stops the rest",
  (error) => {
    const failed = new FailedFiles(9);
    expect(() => failed.add(error)).toThrow(error);
    failed.throwIfAny();
  },
);

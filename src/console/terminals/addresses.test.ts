import { expect, test } from "vitest";
import { paneAt, pathOf } from "./addresses.ts";

test.each(["/t/shell-1", "/t/team/ann/shell-1", "/t/shell-1~follow", "/t/ann%20%26%20bob/build"])(
  "%s names a terminal, whose path it is",
  (path) => {
    expect(pathOf(paneAt(path)!)).toBe(path);
  },
);

// Otherwise the page would leave the terminals as soon as one of them is shown, and each time after that.
test.each(["/t", "/t/", "/t/%", "/t/~follow", "/t/..%2f..", "/t/%2e%2e%2fshell-1", "/t/..%2f.~follow"])(
  "%s names none",
  (path) => {
    expect(paneAt(path)).toBeUndefined();
  },
);

import { afterEach, expect, it, vi } from "vitest";
import { drawErr, writeErr } from "./standard-streams.ts";

afterEach(() => vi.restoreAllMocks());

it("stderr gets lines without anything that a terminal would carry out, unless they are drawn", () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  writeErr("no file \u001b[2J\u009b\u202e\nhere\n");
  drawErr("\r\u001b[K");
  expect(write.mock.calls).toEqual([["no file \\x1b[2J\\x9b\\u202e\nhere\n"], ["\r\u001b[K"]]);
});

import { expect, test } from "vitest";
import { base64Param } from "../base/base64-bytes.ts";
import { MAX_JSON_VALUES } from "../protocol/wire-limits.ts";
import { encodeRequest } from "./encode-request.ts";

test("a megabyte of bytes is one value, and is sent as its base64", () => {
  const bytes = new Uint8Array(1024 * 1024).fill(7);
  const text = encodeRequest("1", "fs/writeBlock", { handleId: "h", offset: 0, chunk: base64Param(bytes) });
  const { params } = JSON.parse(text) as { params: { chunk: string } };
  expect(params.chunk).toBe(Buffer.from(bytes).toString("base64"));
});

test("more values than a server takes are refused here", () => {
  const names = Array.from({ length: MAX_JSON_VALUES }, () => "");
  expect(() => encodeRequest("1", "fs/hash", { names })).toThrow("values");
});

import { expect, it } from "vitest";
import { assertCanServe, loadFfiLibrary } from "./platform.ts";

const entryPoint = (): string => "/node_modules/koffi/index.cjs";
const missing = (name: string): never => {
  throw new Error(`Cannot find module '${name}'`);
};

it("this machine can serve", () => {
  assertCanServe();
  expect(loadFfiLibrary().load(null)).toBeDefined();
});

it.each(["darwin", "win32", "freebsd"])(
  "%s is refused by name, with or without the FFI library",
  (platform) => {
    for (const resolve of [entryPoint, missing])
      expect(() => assertCanServe({ platform, resolve })).toThrow(
        expect.objectContaining({
          code: "UNSUPPORTED",
          message: `exec-server can serve only on Linux, not on ${platform}; its client library works here too`,
        }),
      );
  },
);

it("Linux without the FFI library is refused, with a way out", () => {
  expect(() => assertCanServe({ platform: "linux", resolve: missing })).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED",
      message:
        "exec-server cannot serve without its optional dependency koffi: install it with `npm install --include=optional`",
    }),
  );
});

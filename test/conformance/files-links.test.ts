import { lstat, mkdir, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { expect } from "vitest";
import {
  EXISTS,
  IS_A_DIRECTORY,
  LONG_NAME,
  link,
  NAME_TOO_LONG,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  onTree,
} from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

const LINK = "fs/symlink";
const READ = "fs/readLink";

verifies(
  "files.symlink:creates",
  onTree({ f: "text", d: {}, ld: link("d") }, async ({ on, tree }) => {
    for (const [name, target] of [
      ["relative", "f"],
      ["absolute", tree.path("f")],
      ["broken", "no/where"],
      ["odd", "sp é \u{1f600} %41\n"],
      ["up", "../.."],
      ["self", "self"],
      ["d/inner", "../f"],
      ["ld/through", "../f"],
    ] as const) {
      expect(await on(LINK, name, { target })).toEqual({});
      expect(await readlink(tree.path(name))).toBe(target);
    }
    expect(await readFile(tree.path("d/inner"), "utf8")).toBe("text");
    expect((await lstat(tree.path("d/through"))).isSymbolicLink()).toBe(true);
  }),
);

verifies(
  "files.symlink:exists",
  onTree({ f: "text", d: {}, l: link("f"), broken: link("nowhere") }, async ({ on, tree }) => {
    for (const name of ["f", "d", "l", "broken"])
      for (const more of [{}, { replace: false }, { replace: null }])
        await expectError(on(LINK, name, { target: "x", ...more }), ...EXISTS);
    expect(await readFile(tree.path("f"), "utf8")).toBe("text");
    expect(await readlink(tree.path("l"))).toBe("f");
    expect(await readlink(tree.path("broken"))).toBe("nowhere");
  }),
);

verifies(
  "files.symlink:replaces",
  onTree({ f: "text", kept: "kept", d: { x: "" }, empty: {}, l: link("kept") }, async ({ on, tree }) => {
    const replace = { replace: true };
    for (const name of ["f", "l", "new"]) {
      await on(LINK, name, { target: "elsewhere", ...replace });
      // Twice is like once.
      await on(LINK, name, { target: "elsewhere", ...replace });
      expect(await readlink(tree.path(name))).toBe("elsewhere");
    }
    expect(await readFile(tree.path("kept"), "utf8")).toBe("kept");
    for (const name of ["d", "empty"])
      await expectError(on(LINK, name, { target: "x", ...replace }), ...IS_A_DIRECTORY);
    // Nothing of the attempts is left.
    expect((await readdir(tree.path(""))).toSorted()).toEqual(["d", "empty", "f", "kept", "l", "new"]);
  }),
);

verifies(
  "files.symlink:refuses",
  onTree({ f: "" }, async ({ on, connection, tree }) => {
    for (const more of [{}, { replace: true }]) {
      await expectError(on(LINK, "missing/l", { target: "x", ...more }), ...NOT_FOUND);
      await expectError(on(LINK, "f/l", { target: "x", ...more }), ...NOT_A_DIRECTORY);
      await expectError(on(LINK, LONG_NAME, { target: "x", ...more }), ...NAME_TOO_LONG);
      await expectError(on(LINK, "l", { target: "", ...more }), ...NOT_FOUND);
      await expectError(on(LINK, "l", { target: "x".repeat(5000), ...more }), ...NAME_TOO_LONG);
      await expectError(
        on(LINK, "l", { target: "a\0b", ...more }),
        -32600,
        "a link's target cannot contain a NUL",
      );
    }
    await expectError(on(LINK, "l"), -32602);
    await expectError(connection.request(LINK, { path: "relative", target: "x" }), -32602);
    expect(await readdir(tree.path(""))).toEqual(["f"]);
  }),
);

verifies(
  "files.readLink:reads",
  onTree({ d: {}, ld: link("d") }, async ({ on, tree }) => {
    for (const [name, target] of [
      ["a", "d"],
      ["b", "/no where/é"],
      ["ld/c", ".."],
    ] as const) {
      await symlink(target, tree.path(name));
      expect(await on(READ, name)).toEqual({ target });
    }
  }),
);

verifies(
  "files.readLink:refuses",
  onTree({ f: "", d: {} }, async ({ on, tree }) => {
    for (const name of ["f", "d"])
      await expectError(on(READ, name), -32600, "Invalid argument (os error 22)");
    await expectError(on(READ, "missing"), ...NOT_FOUND);
    await expectError(on(READ, "f/x"), ...NOT_A_DIRECTORY);
    await mkdir(tree.path("bytes"));
    await symlink(Buffer.from([0x61, 0xff]), tree.path("bytes/l"));
    await expectError(on(READ, "bytes/l"), -32603, "the target of the link is not UTF-8");
  }),
);

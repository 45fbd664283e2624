import { readdir, readFile, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { PARAMS_TREE, withPath } from "./file-params.ts";
import { link, onTree, type TreeContext } from "./temp-tree.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

verifies(
  "fs.path:relative",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const path of ["f", "./f", ""]) {
      await Promise.all(
        withPath(tree, path).map(([method, params]) =>
          expectError(connection.request(method, params), -32602, "invalid URI: relative URL without a base"),
        ),
      );
    }
  }),
);

verifies(
  "fs.path:not-a-path",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const [path, message] of [
      ["http://host/f", "unsupported path URI scheme `http`"],
      ["file:///tmp?x=1", "query parameters are not allowed in path URIs"],
      ["file:///tmp#x", "fragments are not allowed in path URIs"],
      ["file:///a%00b", "'file:///a%00b' is invalid on 'linux'"],
      ["file:///a\0b", "'file:///a%00b' is invalid on 'linux'"],
    ] as const) {
      await Promise.all(
        withPath(tree, path).map(([method, params]) =>
          expectError(connection.request(method, params), -32602, message),
        ),
      );
    }
  }),
);

verifies(
  "fs.path:foreign",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const path of ["file://host/f", "file:///C:/x", "file:///C%3A/x"]) {
      await Promise.all(
        withPath(tree, path).map(([method, params]) =>
          expectError(connection.request(method, params), -32600, `'${path}' is invalid on 'linux'`),
        ),
      );
    }
  }),
);

verifies("fs.path:foreign-uri", async ({ peer }) => {
  const connection = await peer();
  for (const [path, written] of [
    ["file://HOST", "file://host/"],
    ["FILE:///C:/a/../b é", "file:///C:/b%20%C3%A9"],
  ]) {
    const message = `'${written}' is invalid on 'linux'`;
    await expectError(connection.request("fs/readFile", { path }), -32600, message);
  }
});

/** Reads each of these URIs, which must all lead to the same file. */
async function allRead(
  { connection }: TreeContext,
  contents: string,
  uris: readonly string[],
): Promise<void> {
  const texts = uris.map(async (path) => {
    const { dataBase64 } = await connection.request("fs/readFile", { path });
    return [path, fromBase64(dataBase64)];
  });
  expect(await Promise.all(texts)).toEqual(uris.map((path) => [path, contents]));
}

verifies(
  "fs.path:escaped-slash",
  onTree({ d: { f: "contents" } }, async (context) => {
    const root = context.tree.uri();
    await allRead(context, "contents", [`${root}/d%2Ff`, `${root}%2fd%2Ff`]);
  }),
);

verifies(
  "fs.path:dot-segments",
  onTree({ f: "contents", d: { e: { f: "deep" }, f: "other" }, le: link("d/e") }, async (context) => {
    const root = context.tree.uri();
    await allRead(context, "contents", [
      `${root}/./f`,
      `${root}/d/../f`,
      `${root}/missing/../f`,
      `${root}/le/../f`,
      `${root}/le/%2E%2e/f`,
      `${root}/d/%2e/./%2E./f`,
    ]);
    await context.connection.request("fs/createDirectory", { path: `${root}/missing/../new` });
    expect((await readdir(context.tree.root)).toSorted()).toEqual(["d", "f", "le", "new"]);
  }),
);

verifies(
  "fs.path:escaped-dots",
  onTree(
    { a: { sub: { g: "inner" }, f: "contents", l: link("../t") }, t: { f: "other" } },
    async (context) => {
      const { connection, tree } = context;
      const root = tree.uri();
      await allRead(context, "contents", [
        `${root}/a/sub%2F..%2Ff`,
        `${root}/a/l%2F..%2ff`,
        `${root}/a/missing%2F..%2F.%2Ff`,
        `${root}/a/f%2F..%2Ff%2F.`,
        `${root}/t%2F..%2Fa/%2F%2Ff%2F`,
      ]);
      for (const followSymlinks of [true, false]) {
        const path = `${root}/a/l%2F..%2Ff`;
        expect(await connection.request("fs/readFile", { path, followSymlinks })).toEqual({
          dataBase64: base64("contents"),
        });
      }
      expect(await connection.request("fs/canonicalize", { path: `${root}/a/l%2F..` })).toEqual({
        path: tree.uri("a"),
      });
      const children = async (name: string) => (await readdir(tree.path(name))).toSorted();
      await connection.request("fs/remove", { path: `${root}/a/l%2F.` });
      expect(await children("a")).toEqual(["f", "sub"]);
      await connection.request("fs/createDirectory", { path: `${root}/a/new%2F..%2Fsub%2Fdeep%2F..` });
      expect(await children("a")).toEqual(["f", "sub"]);
      await connection.request("fs/remove", { path: `${root}/a/sub%2F..` });
      expect(await children("")).toEqual(["t"]);
    },
  ),
);

verifies(
  "fs.path:long-text",
  onTree({ d: { f: "contents" } }, async (context) => {
    const { connection, tree } = context;
    const root = tree.uri();
    await allRead(context, "contents", [
      `${root}/d${"/".repeat(160_000)}f`,
      `${root}/d/f${"/".repeat(160_000)}`,
      `${root}/d${"/.".repeat(80_000)}/f`,
      `${root}/d${"%2Fd%2F..".repeat(16_000)}%2Ff`,
    ]);
    for (const name of ["%41".repeat(256), "%41".repeat(50_000), "abc/".repeat(1200)]) {
      const path = `${root}/${name}`;
      for (const method of [
        "fs/readFile",
        "fs/getMetadata",
        "fs/createDirectory",
        "fs/canonicalize",
        "fs/remove",
      ])
        await expectError(connection.request(method, { path }), -32603, "Filename too long (os error 36)");
      const watch = { watchId: 1, missing: [path] };
      expect(await connection.request("fs/watchMissing", watch)).toEqual({ watching: false });
    }
  }),
);

verifies(
  "fs.path:slashes",
  onTree({ f: "contents", d: {} }, async (context) => {
    const root = context.tree.uri();
    await allRead(context, "contents", [
      `${root}/f/`,
      `${root}//f`,
      `${root}/f//`,
      `file://${root.slice(7)}/f`,
    ]);
    const written = { path: `${root}/new/`, dataBase64: base64("new") };
    await context.connection.request("fs/writeFile", written);
    expect(await readFile(context.tree.path("new"), "utf8")).toBe("new");
  }),
);

verifies(
  "fs.path:spelling",
  onTree({ f: "contents" }, async (context) => {
    const path = context.tree.uri("f").slice("file://".length);
    await allRead(context, "contents", [
      `file://localhost${path}`,
      `FILE://${path}`,
      `file:${path}`,
      `file:${path.slice(1)}`,
      ` file://${path}\n`,
    ]);
  }),
);

verifies(
  "fs.path:characters",
  onTree({ "sp ace é \u{1f600}": "contents", "x&y=z+@[1]'": "marks", "a%41": "percent" }, async (context) => {
    const root = context.tree.uri();
    await allRead(context, "contents", [
      `${root}/sp ace é \u{1f600}`,
      `${root}/sp%20ace%20%C3%A9%20%F0%9F%98%80`,
      `${root}/%73p%20ace é%20\u{1f600}`,
    ]);
    await allRead(context, "marks", [`${root}/x&y=z+@[1]'`, `${root}/x%26y%3Dz%2B%40%5B1%5D%27`]);
    await allRead(context, "percent", [`${root}/a%2541`]);
  }),
);

verifies(
  "fs.path:bytes",
  onTree({ d: {} }, async (context) => {
    const { connection, on, tree } = context;
    await writeFile(Buffer.concat([Buffer.from(tree.path("d/a")), Buffer.from([0xff])]), "contents");
    const uri = `${tree.uri("d")}/a%FF`;
    await allRead(context, "contents", [uri, `${tree.uri("d")}/a%ff`]);
    expect(await connection.request("fs/canonicalize", { path: uri })).toEqual({ path: uri });
    expect(await on("fs/readDirectory", "d")).toEqual({
      entries: [{ fileName: "a\ufffd", isDirectory: false, isFile: true }],
    });
  }),
);

verifies(
  "fs.path:bytes-in-trees",
  onTree({ d: { e: {} } }, async ({ connection, on, tree }) => {
    await writeFile(Buffer.concat([Buffer.from(tree.path("d/e/a")), Buffer.from([0xff])]), "contents");
    const params = { sourcePath: tree.uri("d"), destinationPath: tree.uri("copy"), recursive: true };
    await connection.request("fs/copy", params);
    expect(await readdir(tree.path("copy/e"), { encoding: "latin1" })).toEqual(["a\u00ff"]);
    await on("fs/remove", "d");
    expect(await readdir(tree.root)).toEqual(["copy"]);
  }),
);

verifies("fs.error:permission", async ({ peer }) => {
  const connection = await peer();
  // No user may remove a file of /proc; the reason differs for root.
  const removed = connection.request("fs/remove", { path: "file:///proc/version", recursive: false });
  const reasons = /^(Operation not permitted \(os error 1\)|Permission denied \(os error 13\))$/;
  await expectError(removed, -32600, reasons);
});

import { readFile, readlink, stat, symlink } from "node:fs/promises";
import { expect } from "vitest";
import { onTree, type TreeContext } from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

function rename({ connection, tree }: TreeContext, from: string, to: string) {
  return connection.request("fs/rename", { from: tree.uri(from), to: tree.uri(to) });
}

verifies(
  "files.rename:moves",
  onTree({ file: "new", target: "old", directory: { inner: "text" }, other: {} }, async (context) => {
    const { tree } = context;
    await symlink("nowhere", tree.path("link"));
    expect(await rename(context, "file", "target")).toEqual({});
    expect(await readFile(tree.path("target"), "utf8")).toBe("new");
    await rename(context, "link", "other/link");
    expect(await readlink(tree.path("other/link"))).toBe("nowhere");
    await rename(context, "directory", "other/directory");
    expect(await readFile(tree.path("other/directory/inner"), "utf8")).toBe("text");
    for (const gone of ["file", "link", "directory"]) await expect(stat(tree.path(gone))).rejects.toThrow();
  }),
);

verifies(
  "files.rename:refuses",
  onTree({ file: "text", directory: { inner: "text" } }, async (context) => {
    const { connection, tree } = context;
    await expectError(rename(context, "missing", "new"), -32004, "No such file or directory (os error 2)");
    await expectError(rename(context, "file", "missing/new"), -32004);
    await expectError(rename(context, "file", "directory"), -32603, "Is a directory (os error 21)");
    await expectError(rename(context, "directory", "file"), -32603, "Not a directory (os error 20)");
    await expectError(
      rename(context, "directory", "directory/inside"),
      -32600,
      "Invalid argument (os error 22)",
    );
    await expectError(connection.request("fs/rename", { from: "relative", to: tree.uri("x") }), -32602);
    expect(await readFile(tree.path("file"), "utf8")).toBe("text");
    expect(await readFile(tree.path("directory/inner"), "utf8")).toBe("text");
  }),
);

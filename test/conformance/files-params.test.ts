import { readdir, readFile } from "node:fs/promises";
import { expect } from "vitest";
import { PARAMS_TREE, paramsOf, pathParamsOf, WALK_OPTIONS, withPath } from "./file-params.ts";
import { NOT_FOUND, onTree } from "./temp-tree.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

verifies(
  "fs.gate:before-initialize",
  onTree(PARAMS_TREE, async ({ connect, tree }) => {
    const connection = await connect();
    const message = "client must call initialize before using filesystem methods";
    await Promise.all(
      Object.entries(paramsOf(tree)).map(([method, params]) =>
        expectError(connection.request(method, params), -32600, message),
      ),
    );
    await expect(readFile(tree.path("written"))).rejects.toMatchObject({ code: "ENOENT" });
  }),
);

verifies(
  "fs.gate:before-initialized",
  onTree(PARAMS_TREE, async ({ connect, tree }) => {
    const connection = await connect();
    await connection.request("initialize", { clientName: "conformance" });
    const message = "client must send initialized before using filesystem methods";
    await Promise.all(
      Object.entries(paramsOf(tree)).map(([method, params]) =>
        expectError(connection.request(method, params), -32600, message),
      ),
    );
    await expect(readFile(tree.path("written"))).rejects.toMatchObject({ code: "ENOENT" });
  }),
);

verifies(
  "fs.params:required",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const [method, params] of Object.entries(paramsOf(tree))) {
      const members = Object.keys(params);
      await Promise.all([
        expectError(connection.request(method, {}), -32602, `missing field \`${members[0]}\``),
        ...members.map((member) => {
          const { [member]: _, ...others } = params;
          return expectError(connection.request(method, others), -32602, `missing field \`${member}\``);
        }),
      ]);
    }
  }),
);

verifies(
  "fs.params:object",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const method of Object.keys(paramsOf(tree))) {
      await Promise.all(
        [undefined, null, "text", 5, true, []].map((params) =>
          expectError(connection.request(method, params), -32602),
        ),
      );
    }
  }),
);

verifies(
  "fs.params:unknown-members",
  onTree(PARAMS_TREE, async ({ connection, on, tree }) => {
    await on("fs/open", "new", { handleId: "w", mode: "replace" });
    for (const [method, params] of Object.entries(paramsOf(tree))) {
      expect(await connection.request(method, { ...params, unknown: [1], Path: 2 }), method).toBeTypeOf(
        "object",
      );
    }
  }),
);

verifies(
  "fs.params:strings",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const [value, found] of [
      [null, "null"],
      [5, "number"],
      [[], "sequence"],
      [{}, "map"],
    ] as const) {
      const failure = [-32602, `invalid type: ${found}, expected a string`] as const;
      const others = ["fs/readBlock", "fs/writeBlock", "fs/close"].map((method): [string, object] => [
        method,
        { ...paramsOf(tree)[method], handleId: value },
      ]);
      const bytes = { path: tree.uri("written"), dataBase64: value };
      const requests = [...withPath(tree, value), ...others, ["fs/writeFile", bytes] as const];
      await Promise.all(
        requests.map(([method, params]) => expectError(connection.request(method, params), ...failure)),
      );
    }
  }),
);

verifies(
  "fs.params:booleans",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    const options = {
      followSymlinks: ["fs/readFile", "fs/writeFile", "fs/createDirectory", "fs/getMetadata", "fs/remove"],
      recursive: ["fs/createDirectory", "fs/remove", "fs/copy"],
      force: ["fs/remove"],
    };
    const params = paramsOf(tree);
    for (const [member, methods] of Object.entries(options)) {
      for (const method of methods) {
        const request = (value: unknown) =>
          connection.request(method, { ...params[method], [member]: value });
        await expectError(request(0), -32602, "invalid type: number, expected a boolean");
        await expectError(request("x"), -32602, 'invalid type: string "x", expected a boolean');
      }
    }
  }),
);

verifies(
  "fs.walk:options",
  onTree({}, async ({ on }) => {
    for (const member of Object.keys(WALK_OPTIONS)) {
      const { [member]: _, ...options } = WALK_OPTIONS as Record<string, unknown>;
      await expectError(on("fs/walk", "", { options }), -32602, `missing field \`${member}\``);
      const nulled = { options: { ...WALK_OPTIONS, [member]: null } };
      await expectError(on("fs/walk", "", nulled), -32602, /^invalid type: null, expected /);
    }
    const prune = { options: { ...WALK_OPTIONS, pruneHiddenDirectories: null } };
    await expectError(on("fs/walk", "", prune), -32602, "invalid type: null, expected a boolean");
    for (const member of ["maxDepth", "maxDirectories", "maxEntries"]) {
      for (const value of [-1, 1.5]) {
        const options = { ...WALK_OPTIONS, [member]: value };
        await expectError(on("fs/walk", "", { options }), -32602, "invalid number");
      }
    }
    await expectError(on("fs/walk", ""), -32602, "missing field `options`");
    await expectError(on("fs/walk", "", { options: null }), -32602);
    expect(await on("fs/walk", "", { options: { ...WALK_OPTIONS, unknown: 1 } })).toMatchObject({
      entries: [],
    });
  }),
);

verifies(
  "fs.params:copy-recursive",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    const { recursive: _, ...params } = paramsOf(tree)["fs/copy"] ?? {};
    await expectError(connection.request("fs/copy", params), -32602, "missing field `recursive`");
    const nulled = { ...params, recursive: null };
    await expectError(
      connection.request("fs/copy", nulled),
      -32602,
      "invalid type: null, expected a boolean",
    );
  }),
);

const NO_SANDBOX = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };

verifies(
  "fs.sandbox:null",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const [method, params] of pathParamsOf(tree)) {
      const result = await connection.request(method, { ...params, sandbox: null });
      expect(result, method).toBeTypeOf("object");
    }
  }),
);

verifies(
  "fs.sandbox:none",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    const external = { ...NO_SANDBOX, permissions: { type: "external", network: "restricted" } };
    for (const [method, params] of pathParamsOf(tree)) {
      for (const sandbox of [NO_SANDBOX, external]) {
        if (method === "fs/open") await connection.request("fs/close", { handleId: "h" });
        expect(await connection.request(method, { ...params, sandbox }), method).toBeTypeOf("object");
      }
    }
    expect(await readFile(tree.path("written"), "utf8")).toBe("x");
    expect(await readFile(tree.path("copy"), "utf8")).toBe("contents");
  }),
);

verifies(
  "fs.sandbox:level",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const [method, params] of [...pathParamsOf(tree), ...withPath(tree, "file:///C:/x")]) {
      const request = (sandbox: unknown) => connection.request(method, { ...params, sandbox });
      const { permissions, windowsSandboxLevel } = NO_SANDBOX;
      await expectError(request({ permissions }), -32602, "missing field `windowsSandboxLevel`");
      await expectError(request({ windowsSandboxLevel }), -32602, "missing field `permissions`");
    }
    await expect(readFile(tree.path("written"))).rejects.toMatchObject({ code: "ENOENT" });
  }),
);

verifies(
  "fs.sandbox:managed",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    const permissions = {
      type: "managed",
      file_system: { type: "restricted", entries: [] },
      network: "restricted",
    };
    const before = await readdir(tree.root, { recursive: true });
    for (const [method, params] of pathParamsOf(tree)) {
      const request = connection.request(method, { ...params, sandbox: { ...NO_SANDBOX, permissions } });
      // What would change nothing may succeed: removing what is not there, making a directory that vanishes.
      const mayBeEmpty = method === "fs/remove" || method === "fs/createDirectory";
      if (mayBeEmpty) await request.catch(() => {});
      else await expectError(request, ...NOT_FOUND);
    }
    expect(await readdir(tree.root, { recursive: true })).toEqual(before);
  }),
);

verifies(
  "fs.order:pipelined",
  onTree({}, async ({ on }) => {
    const [, read, , , missing, , names] = await Promise.all([
      on("fs/writeFile", "f", { dataBase64: base64("one") }),
      on("fs/readFile", "f"),
      on("fs/writeFile", "f", { dataBase64: base64("two") }),
      on("fs/remove", "f"),
      expectError(on("fs/getMetadata", "f"), -32004),
      on("fs/createDirectory", "d/e"),
      on("fs/readDirectory", "d"),
    ]);
    expect(fromBase64(read.dataBase64)).toBe("one");
    expect(missing.code).toBe(-32004);
    expect(names).toEqual({ entries: [{ fileName: "e", isDirectory: true, isFile: false }] });
  }),
);

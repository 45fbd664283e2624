import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { PARAMS_TREE, pathParamsOf } from "./file-params.ts";
import { fired } from "./missing-watch.ts";
import { outputOf, read, run, shell, untilOutput, withFiles } from "./process-events.ts";
import { link, onTree, type TempTree } from "./temp-tree.ts";
import { base64, expectError, fromBase64, start, verifies } from "./verifies.ts";

/** The same params with native paths in place of URIs. */
function native(tree: TempTree, params: Record<string, unknown>): Record<string, unknown> {
  const isPath = (value: unknown): value is string =>
    typeof value === "string" && value.startsWith("file://");
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      isPath(value) ? value.replace(tree.uri(), tree.root) : value,
    ]),
  );
}

verifies(
  "seeds.path:files",
  onTree(PARAMS_TREE, async ({ connection, tree }) => {
    for (const [method, params] of pathParamsOf(tree)) {
      const byPath = await connection.request(method, native(tree, params));
      await connection.request("fs/close", { handleId: "h" });
      if (method === "fs/writeFile") expect(await readFile(tree.path("written"), "utf8")).toBe("x");
      for (const name of ["made", "copy", "written"])
        await connection.request("fs/remove", { path: tree.uri(name) });
      expect(await connection.request(method, params), method).toEqual(byPath);
      await connection.request("fs/close", { handleId: "h" });
    }
  }),
);

verifies(
  "seeds.path:verbatim",
  onTree(
    { "a%41 ?#é": "marks", "trailing ": "space", d: { f: "deep", e: {} }, l: link("d/e"), f: "top" },
    async ({ connection, tree }) => {
      const contents = async (path: string) =>
        fromBase64((await connection.request("fs/readFile", { path })).dataBase64);
      expect(await contents(tree.path("a%41 ?#é"))).toBe("marks");
      expect(await contents(tree.path("trailing "))).toBe("space");
      expect(await contents(`${tree.root}//d/./f/`)).toBe("deep");
      // As in a URI: the text decides, not the link.
      expect(await contents(`${tree.root}/l/../f`)).toBe("top");
      expect(await contents(`/../..${tree.root}/f`)).toBe("top");
    },
  ),
);

verifies("seeds.path:nul", async ({ peer }) => {
  const connection = await peer();
  const message = "a path may not contain a NUL character";
  await expectError(connection.request("fs/readFile", { path: "/a\0b" }), -32602, message);
  const started = connection.request("process/start", start("p", ["true"], { cwd: "/a\0b" }));
  await expectError(started, -32602, message);
});

verifies("seeds.path:cwd", async ({ peer }) => {
  await withFiles({}, async ({ path }) => {
    const connection = await peer();
    expect(await outputOf(connection, "pipe", ["/bin/pwd", "-P"], { cwd: path })).toBe(`${path}\n`);
    const terminal = { cwd: path, tty: true };
    expect(await outputOf(connection, "tty", ["/bin/pwd", "-P"], terminal)).toBe(`${path}\r\n`);
  });
});

verifies(
  "seeds.path:others",
  onTree({ "SKILL.md": "text" }, async ({ connection, tree }) => {
    const watch = { watchId: 1, missing: [tree.path("new")], present: tree.path("SKILL.md") };
    expect(await connection.request("fs/watchMissing", watch)).toEqual({ watching: true });
    await connection.request("fs/writeFile", { path: tree.path("new"), dataBase64: "" });
    await fired(connection);
    const roots = [{ id: "1", path: tree.root }];
    const discovered = await connection.request("capabilityRoots/discoverV1", { roots });
    expect(discovered.roots[0].skills).toHaveLength(1);
    const paths = { configPaths: [["model"]], requirementsPaths: [] };
    const config = await connection.request("environmentConfig/read", { cwd: tree.root, ...paths });
    expect(config).toHaveProperty("config.layers");
    const capabilities = await connection.request("capabilities/discoverV2", { cwd: tree.root });
    expect(capabilities).toHaveProperty("plugins");
  }),
);

verifies("seeds.write:accepted", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("pipe", ["cat"], { pipeStdin: true }));
  await connection.request("process/start", start("tty", ["cat"], { tty: true }));
  for (const processId of ["pipe", "tty"]) {
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const answer = await connection.request("process/write", { processId, chunk: base64("again\n") });
      expect(answer).toEqual({ status: "accepted", accepted: true });
    }
  }
  expect(await untilOutput(connection, "pipe", /again\nagain\n/)).toBe("again\nagain\n");
  await untilOutput(connection, "tty", /again\r\n[^]*again\r\n/);
});

verifies("seeds.write:null-id", async ({ peer }) => {
  const connection = await peer();
  const params = { processId: "p", chunk: "", writeId: null };
  const message = "invalid type: null, expected a string";
  await expectError(connection.request("process/write", params), -32602, message);
});

verifies("seeds.write:unknown-process", async ({ peer }) => {
  const connection = await peer();
  const refused = connection.request("process/write", { processId: "missing", chunk: "" });
  await expectError(refused, -32600, "unknown process id missing");
});

verifies("seeds.write:stdin-closed", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  const refused = connection.request("process/write", { processId: "p", chunk: "" });
  await expectError(refused, -32600, "stdin is closed for process p");
});

verifies("seeds.write:after-terminate", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["cat"], { pipeStdin: true }));
  await connection.request("process/terminate", { processId: "p" });
  const refused = connection.request("process/write", { processId: "p", chunk: "" });
  await expectError(refused, -32603, "failed to write to process stdin");
});

verifies("seeds.read:retained", async ({ peer }) => {
  const connection = await peer();
  const started = start("p", ["cat"], { pipeStdin: true, cwd: "/" });
  expect(await connection.request("process/start", started)).toMatchObject({ processId: "p" });
  for (const text of ["one", "two", "three"]) {
    await connection.request("process/write", { processId: "p", chunk: base64(text) });
    await untilOutput(connection, "p", new RegExp(`${text}$`));
  }
  const texts = (answer: { chunks: { chunk: string }[] }) =>
    answer.chunks.map(({ chunk }) => fromBase64(chunk)).join(" ");
  const all = await read(connection, "p");
  expect(all).toMatchObject({ nextSeq: 4, exited: false, exitCode: null });
  expect(all.chunks.map(({ seq, stream }: { seq: number; stream: string }) => [seq, stream])).toEqual([
    [1, "stdout"],
    [2, "stdout"],
    [3, "stdout"],
  ]);
  expect(texts(all)).toBe("one two three");
  const first = await read(connection, "p", { maxBytes: 1 });
  expect([texts(first), first.nextSeq]).toEqual(["one", 2]);
  const rest = await read(connection, "p", { afterSeq: first.nextSeq - 1, maxBytes: 100 });
  expect([texts(rest), rest.nextSeq]).toEqual(["two three", 4]);
});

verifies("seeds.read:wait", async ({ peer }) => {
  const connection = await peer();
  const script = "read a; echo $a; read b; exit 4";
  await connection.request("process/start", start("p", shell(script), { pipeStdin: true }));
  const output = read(connection, "p", { waitMs: 20_000 });
  await connection.request("process/write", { processId: "p", chunk: base64("said\n") });
  const { chunks, nextSeq, exited } = await output;
  expect({ text: fromBase64(chunks[0].chunk), exited }).toEqual({ text: "said\n", exited: false });
  const end = read(connection, "p", { afterSeq: nextSeq - 1, waitMs: 20_000 });
  await connection.request("process/write", { processId: "p", chunk: base64("\n") });
  expect(await end).toMatchObject({ chunks: [], exited: true, exitCode: 4 });
});

verifies("seeds.read:unknown-process", async ({ peer }) => {
  await expectError(read(await peer(), "missing"), -32600, "unknown process id missing");
});

verifies("seeds.terminate:exited", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"], { cwd: "/" }));
  expect(await connection.request("process/terminate", { processId: "p" })).toEqual({ running: true });
  await connection.nextNotification("process/closed", "p");
  expect(await connection.request("process/terminate", { processId: "p" })).toEqual({ running: false });
  expect(await connection.request("process/terminate", { processId: "missing" })).toEqual({
    running: false,
  });
  await run(connection, "q", ["true"], { cwd: "/" });
  await expectError(connection.request("process/start", start("q", ["true"])), -32600, /already exists$/);
});

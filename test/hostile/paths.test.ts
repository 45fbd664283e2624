import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { AttackedServer } from "./attacked-server.ts";
import { type Answer, HostileConnection } from "./hostile-connection.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";
import { CANARY, CANARY_SIZE, RootedTree } from "./rooted-tree.ts";
import { frame } from "../fault/raw-websocket.ts";

const NOBODY = 65_534;
const REQUESTS = 2500;
const BATCH = 25;
const DATA = Buffer.from("written by the attack").toString("base64");
const WALK = { maxDepth: 4, maxDirectories: 100, maxEntries: 1000 };

/** One request with paths that lead somewhere. */
function attack(tree: RootedTree, random: SeededRandom, index: number): { method: string; params: object } {
  const path = tree.somewhere(random);
  const inside = `file://${tree.roots[0]}/f`;
  const flag = (): object =>
    random.pick([{}, { followSymlinks: true }, { followSymlinks: false }, { followSymlinks: false }]);
  const handleId = `h${index % 100}`;
  const [method, params] = random.pick<[string, object]>([
    ["fs/readFile", { path, ...flag() }],
    ["fs/readFile", { path, ...flag() }],
    ["fs/writeFile", { path, dataBase64: DATA, ...flag() }],
    ["fs/createDirectory", { path, recursive: random.pick([true, false]), ...flag() }],
    ["fs/getMetadata", { path, ...flag() }],
    ["fs/canonicalize", { path }],
    ["fs/readDirectory", { path }],
    ["fs/walk", { path, options: { ...WALK, followDirectorySymlinks: random.pick([true, false]) } }],
    ["fs/remove", random.pick([{ path }, { path, recursive: false, ...flag() }])],
    ["fs/copy", { sourcePath: path, destinationPath: `${inside}${index}`, recursive: true }],
    ["fs/copy", { sourcePath: inside, destinationPath: path, recursive: random.pick([true, false]) }],
    ["fs/copy", { sourcePath: path, destinationPath: tree.somewhere(random), recursive: true }],
    ["fs/getMetadata", { path, includeMode: true, ...flag() }],
    ["fs/readDirectory", { path, detailed: true }],
    ["fs/writeFile", { path, dataBase64: DATA, mode: 0o666, ...flag() }],
    ["fs/chmod", { path, mode: random.pick([0o777, 0o700]) }],
    ["fs/symlink", { target: path.replace(/^file:\/\//, ""), path: `${inside}${index}` }],
    ["fs/symlink", { target: "/etc", path, replace: random.pick([true, false]) }],
    ["fs/readLink", { path }],
    ["fs/hash", { path }],
    ["fs/rename", { from: path, to: `${inside}${index}` }],
    ["fs/rename", { from: inside, to: path }],
    ["fs/rename", { from: path, to: tree.somewhere(random) }],
    ["fs/open", { handleId, path, mode: random.pick(["read", "replace"]) }],
    ["fs/readBlock", { handleId, offset: 0, len: 100 }],
    ["fs/writeBlock", { handleId, offset: 0, chunk: DATA }],
    ["fs/close", { handleId }],
    ["fs/watch", { watchId: `w${index}`, path, recursive: random.pick([true, false]) }],
    ["fs/watchMissing", { watchId: index + 1, missing: [path] }],
    ["fs/watchMissing", { watchId: index + 1, missing: [`${inside}-none`], present: path }],
    ["capabilityRoots/discoverV1", { roots: [{ id: "r", path }] }],
    ["capabilities/discoverV2", { cwd: path }],
    ["environmentConfig/read", { cwd: path, configPaths: [["model"]], requirementsPaths: [["model"]] }],
  ]);
  return { method, params };
}

/** Whether an answer reveals anything outside the roots, in base64 or not. */
function tells({ result }: Answer): boolean {
  if (result === undefined) return false;
  const text = JSON.stringify(result);
  const data = result.dataBase64 ?? result.chunk;
  return (
    text.includes(CANARY) ||
    text.includes(`:${CANARY_SIZE},`) ||
    (typeof data === "string" && Buffer.from(data, "base64").includes(CANARY))
  );
}

describe("paths of every kind below roots", () => {
  it("never lead out of them: nothing there is reported, changed or watched", () =>
    withSeed(async () => {
      using tree = new RootedTree(NOBODY);
      await using target = await AttackedServer.start({
        args: ["--fs-roots", tree.roots.join(":")],
        // An escape can harm nothing but the tree made for it.
        user: NOBODY,
      });
      const random = randomOf("paths");
      const before = tree.snapshot();
      const connection = await HostileConnection.open(target.server);
      let [served, refused] = [0, 0];
      const told: string[] = [];
      for (let begun = 0; begun < REQUESTS * hostileRounds; begun += BATCH) {
        const batch = Array.from({ length: BATCH }, (_, offset) => {
          const id = 10 + begun + offset;
          return JSON.stringify({ id, ...attack(tree, random, id) });
        });
        connection.raw.write(Buffer.concat(batch.map((text) => frame(text))));
        for (const text of batch) {
          const answer = await connection.answer(text);
          if (answer === undefined) throw new Error(`the connection ended after ${batch.join("\n")}`);
          if (answer.result === undefined) refused += 1;
          else served += 1;
          if (tells(answer)) told.push(batch.find((one) => one.startsWith(`{"id":${answer.id},`)) ?? "");
        }
        expect(told).toEqual([]);
        expect(tree.snapshot(), `one of\n${batch.join("\n")}`).toEqual(before);
        tree.refill();
      }
      expect(served).toBeGreaterThan(REQUESTS / 20);
      expect(refused).toBeGreaterThan(REQUESTS / 10);

      // A watch outside would report this, together with the change inside that ends the wait.
      connection.raw.write(
        frame(
          JSON.stringify({
            id: 1,
            method: "fs/watch",
            params: { watchId: "last", path: `file://${tree.roots[1]}` },
          }),
        ),
      );
      expect(await connection.answer("fs/watch")).toMatchObject({ id: 1, result: {} });
      for (const place of [tree.outside, join(tree.outside, "a"), tree.base, `${tree.roots[0]}-beside`])
        writeFileSync(join(place, "changed"), "x");
      writeFileSync(join(tree.roots[1] ?? "", "last"), "x");
      for (;;) {
        const { params } = JSON.parse(await connection.raw.message());
        for (const path of params?.paths ?? [])
          expect(
            tree.roots.some((root) => path === `file://${root}` || path.startsWith(`file://${root}/`)),
            path,
          ).toBe(true);
        if (params?.watchId === "last") break;
      }
      connection.raw.cut();
      await target.expectUnharmed("afterwards");
    }));
});

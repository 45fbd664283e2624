import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FakeDisk } from "../../../../test/fixtures/fake-disk.ts";
import {
  deny,
  FULL,
  viewLines,
  path,
  policy,
  READ_ALL,
  shown,
} from "../../../../test/fixtures/sandbox-policies.ts";
import { temporaryDirectory } from "../../../../test/fixtures/temporary-directory.ts";
import { viewInTurns, viewOf } from "./view-of.ts";

describe("patterns", () => {
  const tree = {
    ws: { ...FULL, "a.env": "", sub: { "b.env": "", deep: { "c.env": "" } }, l: { link: "/other" } },
    other: { "d.env": "" },
  };

  it("hide what matches now", () => {
    expect(viewLines([READ_ALL, deny("/ws/**/*.env")], tree)).toEqual([
      "readOnly",
      "hiddenFile /ws/a.env",
      "hiddenFile /ws/sub/b.env",
      "hiddenFile /ws/sub/deep/c.env",
    ]);
    expect(viewLines([READ_ALL, deny("/ws/sub/*")], tree)).toEqual([
      "readOnly",
      "hiddenFile /ws/sub/b.env",
      "hiddenDirectory /ws/sub/deep",
    ]);
  });

  it("hide what a matching link leads to", () => {
    expect(viewLines([READ_ALL, deny("/ws/l*")], tree)).toEqual(["readOnly", "hiddenDirectory /other"]);
  });

  it("win over rules for the same path, and lose to rules below", () => {
    const rules = [path("/ws/a.env", "write"), path("/ws/sub/deep", "read"), deny("/ws/[as]*")];
    expect(viewLines([READ_ALL, ...rules, deny("/ws/**/c.env")], tree)).toEqual([
      "readOnly",
      "hiddenFile /ws/a.env",
      "hiddenDirectory /ws/sub",
      "readOnly /ws/sub/deep",
      "hiddenFile /ws/sub/deep/c.env",
    ]);
  });

  describe("and names that are not UTF-8", () => {
    const NO_TEXT = "\u{fffd}";
    const named = (directory: string, name: string): Buffer =>
      Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, "latin1")]);

    it("hide a name that only looks like one of them", () => {
      const directory = temporaryDirectory();
      writeFileSync(`${directory}/${NO_TEXT}.env`, "");
      writeFileSync(named(directory, "\xff.other"), "");
      expect(shown(viewOf(policy([READ_ALL, deny(`${directory}/**/*.env`)])))).toEqual([
        "readOnly",
        `hiddenFile ${directory}/${NO_TEXT}.env`,
      ]);
    });

    it.each([
      ["a file", []],
      ["a file, beside one whose name looks like it", [`${NO_TEXT}.env`]],
    ])("refuse %s", (_, beside) => {
      const directory = temporaryDirectory();
      for (const name of beside) writeFileSync(`${directory}/${name}`, "");
      writeFileSync(named(directory, "\xff.env"), "");
      expect(() => viewOf(policy([READ_ALL, deny(`${directory}/**/*.env`)]))).toThrow(
        "name is not UTF-8; rename it",
      );
    });

    it("refuse a directory, whatever is beside it", () => {
      const directory = temporaryDirectory();
      mkdirSync(named(directory, "\xff"));
      writeFileSync(`${directory}/${NO_TEXT}`, "");
      expect(() => viewOf(policy([READ_ALL, deny(`${directory}/**/*.env`)]))).toThrow(
        "name is not UTF-8; rename it",
      );
    });
  });

  it("are searched in turns, so that others are not kept waiting", async () => {
    class SlowDisk extends FakeDisk {
      override list(directory: string) {
        const end = performance.now() + 10;
        while (performance.now() < end);
        return super.list(directory);
      }
    }
    let turns = 0;
    const others = setInterval(() => (turns += 1), 0);
    const wanted = policy([READ_ALL, deny("/ws/**/*.env")]);
    const view = await viewInTurns(wanted, { disk: new SlowDisk(tree) });
    clearInterval(others);
    expect(view).toEqual(viewOf(wanted, { disk: new FakeDisk(tree) }));
    // Seven directories, each of which takes longer than a turn may.
    expect(turns).toBeGreaterThan(3);
  });

  it("search as deep as the policy says", () => {
    const view = viewOf(policy([READ_ALL, deny("/ws/**/*.env")], { globScanMaxDepth: 2 }), {
      disk: new FakeDisk(tree),
    });
    expect(shown(view)).toEqual(["readOnly", "hiddenFile /ws/a.env", "hiddenFile /ws/sub/b.env"]);
  });

  it("hide a directory that cannot be searched", () => {
    const disk = new FakeDisk(tree, ["/ws/sub"]);
    expect(shown(viewOf(policy([READ_ALL, deny("/ws/**/*.env")]), { disk }))).toContain(
      "hiddenDirectory /ws/sub",
    );
  });

  it("without a wildcard deny that path, which need not exist", () => {
    expect(viewLines([path("/ws", "write"), deny("/ws/.env")], tree)).toContain("absent /ws/.env");
  });

  it("are refused when there is too much to search", () => {
    const large = {
      ws: Object.fromEntries(Array.from({ length: 200_001 }, (_, index) => [`f${index}`, ""])),
    };
    expect(() => viewLines([READ_ALL, deny("/ws/**/*.env")], large)).toThrow(
      "more than 200000 files to search",
    );
  });

  it("are refused when there is too much to hide", () => {
    const many = { ws: Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`${index}.env`, ""])) };
    expect(() => viewLines([READ_ALL, deny("/ws/*.env")], many)).toThrow("this one would need 1001");
    const rules = Array.from({ length: 1000 }, () => path("/ws", "read"));
    expect(() => viewLines([READ_ALL, ...rules], many)).toThrow("a sandbox has at most 1000 rules");
  });

  it("hide nothing of what every sandbox creates anew", () => {
    const made = { dev: { null: "", shm: { ws: { "a.env": "" } } }, ws: { a: { link: "/dev/null" } } };
    expect(viewLines([READ_ALL, deny("/dev/*"), deny("/ws/*")], made)).toEqual(["readOnly"]);
    expect(viewLines([path("/dev/shm/ws", "write"), deny("/dev/shm/ws/*.env")], made)).toContain(
      "hiddenFile /dev/shm/ws/a.env",
    );
  });

  it("search nothing that is not visible anyway", () => {
    const disk = new FakeDisk(tree);
    viewOf(policy([path("/other", "read"), deny("/ws/**/*.env")]), { disk });
    expect(disk.listed).toBe(0);
  });
});

import { homedir } from "node:os";
import { describe, expect, it, vi } from "vitest";
import { FakeDisk, type Tree } from "../../../../test/fixtures/fake-disk.ts";
import {
  FULL,
  viewLines,
  path,
  policy,
  READ_ALL,
  shown,
} from "../../../../test/fixtures/sandbox-policies.ts";
import { narrow, type FileRule } from "../policy/sandbox-policy.ts";
import { exposedFile } from "./exposed-file.ts";
import { PathWalk } from "./path-walk.ts";
import { hidingPlaces, isHidden, type ServerFiles } from "./server-files.ts";
import { viewOf } from "./view-of.ts";

type Disk = { [name: string]: Tree };

const view = (rules: FileRule[], tree: Disk, files: Partial<ServerFiles>): string[] =>
  shown(viewOf(policy(rules), { files: { hiddenPaths: [], ...files }, disk: new FakeDisk(tree) }));

/** A tree with a file at an absolute path. */
function treeWith(file: string): Disk {
  const [first = "", ...rest] = file.slice(1).split("/");
  return { [first]: rest.length === 0 ? "" : treeWith(`/${rest.join("/")}`) };
}

describe("a file of the server", () => {
  it("costs no look at the disk if there is none", () => {
    const disk = new FakeDisk({ tmp: {} });
    const looking = vi.spyOn(disk, "entryAt");
    expect(hidingPlaces([], new PathWalk(disk))).toEqual([]);
    expect(looking).not.toHaveBeenCalled();
  });

  const tree = { conf: { table: "t", sub: { f: "" } }, ws: FULL, l: { link: "/conf/table" } };

  it("is hidden with its directory in every policy, so that nothing that takes its place can be seen", () => {
    for (const file of ["/conf/table", "/conf/later"]) {
      expect(viewLines([READ_ALL], tree, [file])).toEqual(["readOnly", "hiddenDirectory /conf"]);
      expect(viewLines([path("/", "write")], tree, [file])).toEqual(["writable", "hiddenDirectory /conf"]);
    }
    const files = { hiddenPaths: ["/conf/table"] };
    const unrestricted = { files: "unrestricted", network: "enabled" } as const;
    expect(shown(viewOf(unrestricted, { files, disk: new FakeDisk(tree) }))).toEqual([
      "writable",
      "hiddenDirectory /conf",
    ]);
  });

  it("is hidden where its link leads, and where a file could take the place of the link", () => {
    const linked = {
      live: { key: { link: "../archive/..data/key1" }, other: "" },
      archive: { "..data": { link: "v1" }, v1: { key1: "" } },
    };
    expect(viewLines([READ_ALL], linked, ["/live/key"])).toEqual([
      "readOnly",
      "hiddenDirectory /archive/v1",
      "hiddenDirectory /live",
    ]);
  });

  it("leaves directories beside it to the rules that name them, and no files", () => {
    const rules = [READ_ALL, path("/conf/sub", "write"), path("/conf/table", "read")];
    const named = { ...tree, conf: { table: "t", sub: { ...FULL } } };
    expect(viewLines(rules, named, ["/conf/table"])).toEqual([
      "readOnly",
      "hiddenDirectory /conf",
      "writable /conf/sub",
      "readOnly /conf/sub/.agents",
      "readOnly /conf/sub/.aws",
      "readOnly /conf/sub/.codex",
      "readOnly /conf/sub/.git",
    ]);
  });

  it("whose directory a client names is hidden with its copies, locks and predecessors alone", () => {
    const project = { ws: { ...FULL, log: "", "log.old": "", "log.1": "", logs: "", src: {} } };
    expect(viewLines([READ_ALL, path("/ws", "write")], project, ["/ws/log"])).toEqual([
      "readOnly",
      "writable /ws",
      "readOnly /ws/.agents",
      "readOnly /ws/.aws",
      "readOnly /ws/.codex",
      "readOnly /ws/.git",
      "hiddenFile /ws/log",
      "hiddenFile /ws/log.1",
      "hiddenFile /ws/log.old",
    ]);
    expect(viewLines([READ_ALL, path("/ws", "write")], project, ["/ws/later"])).toContain(
      "absentFile /ws/later",
    );
  });

  it("stays hidden with its directory if only the client names that, and not the operator", () => {
    const client = policy([READ_ALL, path("/conf", "read"), path("/conf/sub", "write")]);
    const narrowed = viewOf(narrow(policy([READ_ALL]), client), {
      files: { hiddenPaths: ["/conf/table"] },
      disk: new FakeDisk(tree),
    });
    expect(shown(narrowed)).toEqual(["readOnly", "hiddenDirectory /conf"]);
  });

  it.each(["/table", "/etc/table", "/tmp/table", "/var/table", "/run/table", `${homedir()}/table`])(
    "is hidden by itself in a directory that programs need: %s",
    (file) => {
      const around = { etc: {}, tmp: {}, var: { tmp: {} }, run: {}, ...treeWith(file) };
      const shared = { ...around, ...(file.startsWith("/var") ? { var: { tmp: {}, table: "" } } : {}) };
      expect(viewLines([READ_ALL], shared, [file])).toEqual(["readOnly", `hiddenFile ${file}`]);
    },
  );

  it("that the server names as a directory is hidden whatever is granted below it", () => {
    const rules = [path("/", "write"), path("/conf", "write"), path("/conf/sub", "write")];
    expect(viewLines(rules, tree, ["/conf"])).toEqual(["writable", "hiddenDirectory /conf"]);
  });

  it("cannot be replaced by way of a writable link to its directory", () => {
    const around = { ...tree, ws: { ...FULL, conf: { link: "/conf" } }, x: { link: "/" } };
    for (const file of ["/ws/conf/table", "/x/ws/conf/table"])
      expect(() => viewLines([READ_ALL, path("/ws", "write")], around, [file])).toThrow(
        "the server's own file is reachable through the writable symlink /ws/conf",
      );
    expect(viewLines([READ_ALL], around, ["/ws/conf/table"])).toContain("hiddenDirectory /conf");
  });

  it("whose directory does not exist yet keeps the name of that", () => {
    expect(viewLines([READ_ALL, path("/ws", "write")], tree, ["/ws/a/b/key"])).toContain("absent /ws/a");
  });

  it("that is a socket is hidden by itself", () => {
    const socketPaths = ["/conf/table", "/conf/missing"];
    expect(view([path("/", "write")], tree, { socketPaths })).toEqual([
      "writable",
      "writable /conf",
      "hiddenFile /conf/table",
    ]);
  });

  it("that anybody may read stays read-only with its directory", () => {
    const trustedPaths = ["/conf/table"];
    expect(view([path("/", "write")], tree, { trustedPaths })).toEqual(["writable", "readOnly /conf"]);
    expect(
      view([path("/conf", "write")], { ...tree, conf: { ...FULL, table: "" } }, { trustedPaths }),
    ).toContain("readOnly /conf/table");
  });

  it("is known by its real path", () => {
    const disk = new FakeDisk({ ...tree, etc: { key: "" } });
    const files = { hiddenPaths: ["/l", "/etc/key"], socketPaths: ["/ws/.codex/a"] };
    const known = ["/conf", "/conf/new", "/etc/key", "/etc/key.old", "/ws/.codex/a"];
    for (const real of known) expect([real, isHidden(real, files, disk)]).toEqual([real, true]);
    for (const real of ["/", "/config", "/etc", "/etc/keys", "/ws"])
      expect([real, isHidden(real, files, disk)]).toEqual([real, false]);
  });
});

describe("the policy of an operator", () => {
  const tree = {
    conf: { table: "", sub: {} },
    etc: { table: "" },
    ws: { conf: { link: "/conf" }, table: { link: "/conf/table" } },
  };
  const disk = new FakeDisk(tree);
  const fault = (rules: FileRule[], files: Partial<ServerFiles>) =>
    exposedFile(policy(rules), { hiddenPaths: [], ...files }, { disk, walk: new PathWalk(disk) });

  it.each(["hiddenPaths", "socketPaths", "trustedPaths"] as const)(
    "makes nothing writable in which one of the %s lies, or a link that leads there",
    (kind) => {
      const wrong = (rule: string, file: string) =>
        fault([READ_ALL, path(rule, "write")], { [kind]: [file] })?.split(":")[0];
      for (const [rule, file] of [
        ["/conf", "/conf/table"],
        ["/conf/table", "/conf/table"],
        ["/conf", "/conf/later"],
        ["/conf", "/conf/a/b"],
        ["/", "/conf/table"],
        ["/ws", "/ws/table"],
        ["/ws", "/ws/conf/table"],
      ] as const)
        expect(wrong(rule, file)).toBe(`makes ${rule} writable, including the server's own file ${file}`);
      expect(wrong("/conf/sub", "/conf/table")).toBeUndefined();
      expect(wrong("/ws", "/conf/table")).toBeUndefined();
    },
  );

  it("shows no directory that holds one and cannot be hidden", () => {
    const etc = "shows /etc, including the server's own file /etc/table: ";
    expect(fault([READ_ALL], { hiddenPaths: ["/etc/table"] })).toContain(etc);
    expect(fault([path("/conf", "read")], { hiddenPaths: ["/conf/table"] })).toContain("shows /conf");
    expect(fault([path("/ws", "read")], { hiddenPaths: ["/etc/table", "/conf/table"] })).toBeUndefined();
    expect(fault([READ_ALL], { socketPaths: ["/etc/table"] })).toBeUndefined();
    expect(fault([READ_ALL], { maskedPaths: ["/etc/table"], trustedPaths: ["/etc/table"] })).toBeUndefined();
  });
});

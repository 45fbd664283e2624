import { describe, expect, it } from "vitest";
import { ProtocolError } from "../../base/errors.ts";
import { Files } from "./files.ts";
import { fakeCaller } from "../../../test/fixtures/fake-caller.ts";

describe("names and paths from a server", () => {
  it.each(["", ".", "..", "a/b", "/etc/shadow", "../../x", "a\0", "/", "a/"])(
    "a listing with the name %j is an error",
    async (fileName) => {
      const entries = [
        { fileName: "fine", isDirectory: false, isFile: true },
        { fileName, isDirectory: false, isFile: true },
      ];
      const { caller } = fakeCaller({ "fs/readDirectory": () => ({ entries }) });
      await expect(new Files(caller).list("/d")).rejects.toBeInstanceOf(ProtocolError);
    },
  );

  it.each(["...", "a\\b", "..a", " ", "\u{fffd}", "%2F", "con", "a\nb"])(
    "a listing may have the name %j",
    async (fileName) => {
      const entries = [{ fileName, isDirectory: false, isFile: true }];
      const { caller } = fakeCaller({ "fs/readDirectory": () => ({ entries }) });
      expect(await new Files(caller).list("/d")).toEqual([{ name: fileName, kind: "file" }]);
    },
  );

  it.each([
    ["elsewhere", "file:///etc/shadow"],
    ["beside it", "file:///top2/x"],
    ["above it", "file:///"],
    ["the directory itself", "file:///top"],
    ["through dots", "file:///top/../etc"],
    ["through encoded dots", "file:///top/%2e%2e/etc"],
    ["through dots behind encoded slashes", "file:///top/a%2F..%2F..%2Fetc"],
    ["on another machine", "file://machine/top/x"],
    ["no URI", "/top/x"],
    ["no text of a URI", "::"],
    ["with a NUL", "file:///top/a%00b"],
  ])("a walk that names a path %s is an error", async (_, uri) => {
    const inside = { path: "file:///top/x", kind: "file" };
    const answers = [
      { entries: [inside, { path: uri, kind: "file" }], errors: [], truncated: false },
      ...(uri === "file:///top"
        ? []
        : [{ entries: [inside], errors: [{ path: uri, message: "" }], truncated: false }]),
    ];
    for (const answer of answers) {
      const { caller } = fakeCaller({ "fs/walk": () => answer });
      await expect(new Files(caller).walk("/top/")).rejects.toBeInstanceOf(ProtocolError);
    }
  });

  it("a walk takes what is below, whatever way it was asked about, and no more than was asked for", async () => {
    const entries = [{ path: "file:///top/a%20b", kind: "file" }];
    const { caller } = fakeCaller({ "fs/walk": () => ({ entries, errors: [], truncated: false }) });
    const files = new Files(caller);
    for (const path of ["/top", "/top/", "/", "/x/../top", "/./top/."])
      expect(await files.walk(path)).toMatchObject({ entries: [{ path: "/top/a b", kind: "file" }] });
    entries.push({ path: "file:///top/c", kind: "file" });
    await expect(files.walk("/top", { maxEntries: 1 })).rejects.toBeInstanceOf(ProtocolError);
  });

  it.each([
    [Number.MAX_SAFE_INTEGER, 8.64e15],
    [Number.MIN_SAFE_INTEGER, -8.64e15],
  ])("a time of %d ms is the nearest that a Date can hold", async (ms, nearest) => {
    const metadata = { isDirectory: false, isFile: true, isSymlink: false, size: 1 };
    const { caller } = fakeCaller({
      "fs/getMetadata": () => ({ ...metadata, createdAtMs: ms, modifiedAtMs: ms }),
    });
    const { created, modified } = await new Files(caller).stat("/f");
    expect([created?.getTime(), modified.getTime()]).toEqual([nearest, nearest]);
  });

  it.each(["http://x/", "relative", ""])("a real path %j is an error", async (path) => {
    const { caller } = fakeCaller({ "fs/canonicalize": () => ({ path }) });
    await expect(new Files(caller).realpath("/a")).rejects.toBeInstanceOf(ProtocolError);
  });
});

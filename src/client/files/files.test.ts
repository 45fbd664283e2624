import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../base/base64.ts";
import { ConnectionError, ProtocolError, RpcError, UsageError } from "../../base/errors.ts";
import { sandboxContext } from "../../protocol/sandbox-options.ts";
import { fromWire } from "../../rpc/error-wire.ts";
import { FileError } from "./file-error.ts";
import { Files } from "./files.ts";
import { blocksOf, fakeCaller, refusing } from "../../../test/fixtures/fake-caller.ts";

describe("Files", () => {
  it.each([
    ["relative.txt", "a path that starts with /"],
    ["./x", "a path that starts with /"],
    ["~/x", "a path that starts with /"],
    ["", "a path that starts with /"],
    ["file:///x", "a plain path, not a URI"],
  ])("refuses %j before anything is sent", async (path, hint) => {
    const { caller, calls } = fakeCaller({});
    const files = new Files(caller);
    const attempts = [
      () => files.read(path),
      () => files.readText(path),
      () => files.write(path, ""),
      () => files.list(path),
      () => files.stat(path),
      () => files.exists(path),
      () => files.mkdir(path),
      () => files.remove(path),
      () => files.copy(path, "/x"),
      () => files.copy("/x", path),
      () => files.realpath(path),
      () => files.walk(path),
      async () => files.readStream(path),
      () => files.writeStream(path, []),
    ];
    for (const attempt of attempts) {
      const failure: unknown = await attempt().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UsageError);
      expect(failure).toMatchObject({
        message: `not an absolute path: ${JSON.stringify(path)}; use ${hint}`,
      });
    }
    expect(calls).toEqual([]);
  });

  it("refuses a path with a NUL", async () => {
    await expect(new Files(fakeCaller({}).caller).read("/a\0b")).rejects.toThrow(UsageError);
  });

  it("asks for modes only where the server has them, and refuses what a server would ignore", async () => {
    const metadata = {
      isDirectory: false,
      isFile: true,
      isSymlink: false,
      size: 1,
      createdAtMs: 0,
      modifiedAtMs: 0,
    };
    const answers = {
      "fs/getMetadata": ({ includeMode }: { includeMode?: boolean }) =>
        includeMode ? { ...metadata, mode: 0o640 } : metadata,
      "fs/writeFile": () => ({}),
      "fs/chmod": () => ({}),
    };
    const plain = fakeCaller(answers);
    const without = new Files(plain.caller);
    expect((await without.stat("/x")).mode).toBeUndefined();
    await expect(without.write("/x", "", { mode: 0o600 })).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(without.writeStream("/x", [], { mode: 0o600 })).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
    await expect(without.listDetails("/x")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(plain.calls).toEqual([{ method: "fs/getMetadata", params: { path: "file:///x" } }]);
    const { caller, calls } = fakeCaller(answers);
    const files = new Files(caller, { supports: () => true });
    expect((await files.stat("/x")).mode).toBe(0o640);
    for (const mode of [-1, 0o10000, 1.5, Number.NaN]) {
      await expect(files.write("/x", "", { mode })).rejects.toBeInstanceOf(UsageError);
      await expect(files.chmod("/x", mode)).rejects.toBeInstanceOf(UsageError);
    }
    await files.write("/x", "", { mode: 0 });
    expect(calls.at(-1)?.params).toEqual({ path: "file:///x", dataBase64: "", mode: 0 });
  });

  it("refuses targets of links that no system takes, and offsets that are none", async () => {
    const files = new Files(fakeCaller({}).caller);
    for (const target of ["a\0b", "\ud800"])
      await expect(files.symlink(target, "/x")).rejects.toBeInstanceOf(UsageError);
    for (const offset of [-1, 0.5, 2 ** 60])
      expect(() => files.readStream("/x", { offset })).toThrow(UsageError);
  });

  it("copies no trees where there are no local files", async () => {
    const files = new Files(fakeCaller({}).caller);
    const failure = { code: "UNSUPPORTED", message: expect.stringContaining("only Node.js") as string };
    await expect(files.uploadTree("/a", "/b")).rejects.toMatchObject(failure);
    await expect(files.downloadTree("/a", "/b")).rejects.toMatchObject(failure);
  });

  it("spells paths as URIs", async () => {
    const { caller, calls } = fakeCaller({ "fs/remove": () => ({}) });
    await new Files(caller).remove("/a b/%41?#é");
    expect(calls).toEqual([
      {
        method: "fs/remove",
        params: { path: "file:///a%20b/%2541%3F%23%C3%A9", recursive: false, force: false },
      },
    ]);
  });

  it.each([
    [-32004, "No such file or directory (os error 2)", undefined, "NOT_FOUND", "ENOENT"],
    [-32600, "Permission denied (os error 13)", undefined, "PERMISSION_DENIED", "EACCES"],
    [-32600, "Operation not permitted (os error 1)", undefined, "PERMISSION_DENIED", "EPERM"],
    [-32600, "refused", { code: "PERMISSION_DENIED", errno: "EACCES" }, "PERMISSION_DENIED", "EACCES"],
    [-32600, "path `/x` is not a file", undefined, "INVALID_INPUT", undefined],
    [-32602, "invalid URI", undefined, "INVALID_INPUT", undefined],
    [-32603, "File exists (os error 17)", undefined, "OS_ERROR", "EEXIST"],
    [-32603, "Strange (os error 4242)", null, "OS_ERROR", undefined],
    [-32601, "no such method", undefined, "UNSUPPORTED", undefined],
    [-31999, "something else", undefined, "RPC_ERROR", undefined],
    [-32600, "outside the roots", { code: "PERMISSION_DENIED" }, "PERMISSION_DENIED", undefined],
    [-32603, "the target is not UTF-8", { code: "UNSUPPORTED" }, "UNSUPPORTED", undefined],
    [-32011, "too many", { code: "LIMIT_REACHED" }, "LIMIT_REACHED", undefined],
    [-32011, "too many", undefined, "LIMIT_REACHED", undefined],
    [-32603, "odd", { code: "SESSION_LOST" }, "OS_ERROR", undefined],
  ])("an answer %i %s (data %j) is a FileError %s %s", async (rpcCode, message, data, code, errno) => {
    const cause = fromWire({ code: rpcCode, message, ...(data === undefined ? {} : { data }) });
    const failure: unknown = await new Files(refusing("fs/getMetadata", cause).caller)
      .stat("/x")
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FileError);
    expect(failure).toMatchObject({
      code,
      errno,
      rpcCode,
      path: "/x",
      message: `stat /x: ${message}`,
      cause,
      name: "FileError",
    });
  });

  it("other errors stay what they are", async () => {
    const lost = new ConnectionError("connection closed");
    await expect(new Files(refusing("fs/getMetadata", lost).caller).exists("/x")).rejects.toBe(lost);
    const denied = new RpcError(-32600, "Permission denied (os error 13)");
    await expect(new Files(refusing("fs/getMetadata", denied).caller).exists("/x")).rejects.toMatchObject({
      code: "PERMISSION_DENIED",
    });
  });

  it("a birth time that is not known is absent", async () => {
    const answer = { isDirectory: false, isFile: true, isSymlink: false, size: 3, modifiedAtMs: 1500 };
    const stat = async (createdAtMs: number) =>
      new Files(fakeCaller({ "fs/getMetadata": () => ({ ...answer, createdAtMs }) }).caller).stat("/x");
    expect(await stat(0)).toEqual({
      kind: "file",
      isSymlink: false,
      size: 3,
      modified: new Date(1500),
      created: undefined,
    });
    expect((await stat(1000)).created).toEqual(new Date(1000));
  });

  it("names that are not UTF-8 are reported as errors of a walk, because no text names them", async () => {
    const { caller } = fakeCaller({
      "fs/walk": () => ({
        entries: [
          { path: "file:///t/good", kind: "file" },
          { path: "file:///t/b%FFd", kind: "file" },
        ],
        errors: [{ path: "file:///t/locked", message: "Permission denied (os error 13)" }],
        truncated: false,
      }),
      "fs/canonicalize": () => ({ path: "file:///t/b%FFd" }),
    });
    const files = new Files(caller);
    expect(await files.walk("/t")).toEqual({
      entries: [{ path: "/t/good", kind: "file" }],
      errors: [
        { path: "/t/locked", message: "Permission denied (os error 13)" },
        { path: "/t/b\uFFFDd", message: "the name is not UTF-8" },
      ],
      truncated: false,
    });
    await expect(files.realpath("/t/link")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it("bytes are a plain Uint8Array with memory of their own", async () => {
    const { caller } = fakeCaller({
      "fs/getMetadata": () => ({ isFile: true, size: 3 }),
      "fs/readFile": () => ({ dataBase64: "AQID" }),
    });
    const bytes = await new Files(caller).read("/x");
    expect(bytes).toEqual(new Uint8Array([1, 2, 3]));
    expect(bytes.buffer.byteLength).toBe(3);
  });

  it("reads a file with one request from a server that leaves long ones alone, and those in blocks", async () => {
    const long = new Uint8Array(5 * 1024 * 1024).fill(7);
    const { caller, calls } = fakeCaller({
      ...blocksOf(long),
      "fs/readFile": ({ path }) =>
        path === "file:///long" ? { dataBase64: "", size: long.length } : { dataBase64: "AQID" },
    });
    const files = new Files(caller, { supports: () => true });
    expect(await files.read("/short")).toEqual(new Uint8Array([1, 2, 3]));
    expect(calls.map(({ method, params }) => [method, params["maxBytes"]])).toEqual([
      ["fs/readFile", 4 * 1024 * 1024],
    ]);
    // Not `toEqual`: a difference of this length would be printed.
    expect(Buffer.from(await files.read("/long")).equals(long)).toBe(true);
    await expect(files.read("/long", { maxBytes: 1000 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(calls.at(-1)).toMatchObject({ method: "fs/readFile", params: { maxBytes: 1000 } });
  });

  it("an answer that is not base64 is a fault of the server", async () => {
    const { caller } = fakeCaller({
      "fs/getMetadata": () => ({ isFile: true, size: 1 }),
      "fs/readFile": () => ({ dataBase64: "?" }),
    });
    await expect(new Files(caller).read("/x")).rejects.toThrow(ProtocolError);
  });

  it("a file that grew beyond maxBytes after its size was asked for is refused too", async () => {
    const { caller } = fakeCaller({
      "fs/getMetadata": () => ({ isFile: true, size: 1 }),
      "fs/readFile": () => ({ dataBase64: encodeBase64(new Uint8Array(3)) }),
    });
    await expect(new Files(caller).read("/x", { maxBytes: 2 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("sends its sandbox with every call, and with none about an open file", async () => {
    const { caller, calls } = fakeCaller({
      ...blocksOf(new Uint8Array(3)),
      "fs/getMetadata": () => ({}),
      "fs/copy": () => ({}),
    });
    const dependencies = {
      environment: () => ({ shell: { name: "sh", path: "/bin/sh" }, cwd: "file:///srv" }),
    };
    const files = new Files(caller, dependencies).within({ write: ["out"] });
    await files.stat("/a");
    await files.copy("/a", "/b");
    for await (const _ of files.readStream("/a"));
    const sandbox = sandboxContext({ write: ["/srv/out"] }, "file:///srv");
    expect(calls.map(({ method, params }) => [method, params["sandbox"]])).toEqual([
      ["fs/getMetadata", sandbox],
      ["fs/copy", sandbox],
      ["fs/open", sandbox],
      ["fs/readBlock", undefined],
      ["fs/close", undefined],
    ]);
    expect(() => files.within("read-only")).toThrow(
      new UsageError("these files are confined by a sandbox already"),
    );
  });
});

import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../base/base64.ts";
import { createDeferred } from "../../base/deferred.ts";
import { ConnectionError, ProtocolError, RpcError, UsageError } from "../../base/errors.ts";
import { sandboxContext } from "../../protocol/sandbox-options.ts";
import { fromWire } from "../../rpc/error-wire.ts";
import type { Caller } from "../session/caller.ts";
import { FileError } from "./file-error.ts";
import { Files } from "./files.ts";

const MIB = 1024 * 1024;

// oxlint-disable-next-line typescript/no-explicit-any
type Answers = Record<string, (params: any) => unknown>;

/** A caller that is answered by hand, and what it was asked. */
function fakeCaller(answers: Answers) {
  const calls: { method: string; params: Record<string, unknown> }[] = [];
  const caller = {
    async request(method: string, params: Record<string, unknown>, options?: { signal?: AbortSignal }) {
      options?.signal?.throwIfAborted();
      calls.push({ method, params });
      const answer = answers[method];
      if (answer === undefined) throw new Error(`unexpected ${method}`);
      return answer(params);
    },
  } as unknown as Caller;
  return { caller, calls, methods: () => calls.map(({ method }) => method) };
}

function refusing(method: string, error: Error) {
  return fakeCaller({
    [method]: () => {
      throw error;
    },
  });
}

/** Serves one file by blocks. */
function blocksOf(bytes: Uint8Array, more: Answers = {}): Answers {
  return {
    "fs/open": ({ handleId }) => ({ handleId }),
    "fs/readBlock": ({ offset, len }) => {
      const block = bytes.subarray(offset, offset + len);
      return { chunk: encodeBase64(block), eof: block.length < len };
    },
    "fs/close": () => ({}),
    ...more,
  };
}

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
        message: `not an absolute path: ${JSON.stringify(path)}; give ${hint}`,
      });
    }
    expect(calls).toEqual([]);
  });

  it("refuses a path with a NUL", async () => {
    await expect(new Files(fakeCaller({}).caller).read("/a\0b")).rejects.toThrow(UsageError);
  });

  it("asks for modes only where the server has them, and refuses what a server would ignore", async () => {
    const found = {
      isDirectory: false,
      isFile: true,
      isSymlink: false,
      size: 1,
      createdAtMs: 0,
      modifiedAtMs: 0,
    };
    const answers = {
      "fs/getMetadata": ({ includeMode }: { includeMode?: boolean }) =>
        includeMode ? { ...found, mode: 0o640 } : found,
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
    const failure = { code: "UNSUPPORTED", message: expect.stringContaining("only Node has") as string };
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

  it("names that are not UTF-8 are told as errors of a walk, because no text names them", async () => {
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
});

describe("a stream of a file", () => {
  it("asks for one block first, then some ahead, and closes at the end", async () => {
    const { caller, methods } = fakeCaller(blocksOf(new Uint8Array(2 * MIB)));
    const sizes: number[] = [];
    for await (const piece of new Files(caller).readStream("/x")) {
      if (sizes.length === 0) expect(methods().filter((name) => name === "fs/readBlock")).toHaveLength(5);
      sizes.push(piece.length);
    }
    expect(sizes).toEqual([MIB, MIB]);
    expect(methods().at(-1)).toBe("fs/close");
    const small = fakeCaller(blocksOf(new Uint8Array(10)));
    for await (const _ of new Files(small.caller).readStream("/x"));
    expect(small.methods()).toEqual(["fs/open", "fs/readBlock", "fs/close"]);
  });

  it("never has more than a bounded number of blocks under way", async () => {
    let underWay = 0;
    let most = 0;
    const bytes = new Uint8Array(12 * MIB);
    const { caller } = fakeCaller(
      blocksOf(bytes, {
        "fs/readBlock": async ({ offset, len }) => {
          underWay += 1;
          most = Math.max(most, underWay);
          await Promise.resolve();
          underWay -= 1;
          const block = bytes.subarray(offset, offset + len);
          return { chunk: encodeBase64(block), eof: block.length < len };
        },
      }),
    );
    let read = 0;
    for await (const piece of new Files(caller).readStream("/x")) read += piece.length;
    expect(read).toBe(bytes.length);
    expect(most).toBe(4);
  });

  it("ends at the first short block, whatever has grown behind it", async () => {
    const { caller } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "fs/readBlock": ({ offset }) =>
          offset === MIB
            ? { chunk: encodeBase64(new Uint8Array(5)), eof: true }
            : { chunk: encodeBase64(new Uint8Array(MIB)), eof: false },
      }),
    );
    const sizes: number[] = [];
    for await (const piece of new Files(caller).readStream("/x")) sizes.push(piece.length);
    expect(sizes).toEqual([MIB, 5]);
  });

  it("a block whose length and end do not agree is a fault of the server, and the file is closed", async () => {
    const { caller, methods } = fakeCaller(
      blocksOf(new Uint8Array(0), { "fs/readBlock": () => ({ chunk: "AAAA", eof: false }) }),
    );
    await expect(new Files(caller).readStream("/x").next()).rejects.toThrow(ProtocolError);
    expect(methods().at(-1)).toBe("fs/close");
  });

  it("a failed block is a FileError; a handle that the server lost is a lost connection", async () => {
    const failing = (error: Error) =>
      new Files(
        fakeCaller(
          blocksOf(new Uint8Array(0), {
            "fs/readBlock": () => {
              throw error;
            },
            "fs/writeBlock": () => {
              throw error;
            },
            "environment/info": () => ({ capabilities: { fileWriteStreaming: true } }),
          }),
        ).caller,
      );
    const broken = failing(new RpcError(-32603, "Input/output error (os error 5)"));
    const io = { code: "OS_ERROR", errno: "EIO", path: "/x" };
    await expect(broken.readStream("/x").next()).rejects.toMatchObject(io);
    await expect(broken.writeStream("/x", [new Uint8Array(1)])).rejects.toMatchObject(io);
    const lost = failing(new RpcError(-32004, "unknown file handle `files-1`"));
    await expect(lost.readStream("/x").next()).rejects.toThrow(ConnectionError);
    await expect(lost.writeStream("/x", [new Uint8Array(1)])).rejects.toThrow(ConnectionError);
  });

  it("a file whose opening was given up is closed when it has been opened", async () => {
    const opened = createDeferred<object>();
    const closed = createDeferred<unknown>();
    const { caller, methods } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "fs/open": () => opened.promise,
        "fs/close": ({ handleId }) => closed.resolve(handleId),
      }),
    );
    const controller = new AbortController();
    const reason = new Error("enough");
    const first = new Files(caller).readStream("/x", { signal: controller.signal }).next();
    controller.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(methods()).toEqual(["fs/open"]);
    opened.resolve({ handleId: "files-1" });
    expect(await closed.promise).toBe("files-1");
  });

  it("is written in blocks of 1 MiB, of which a bounded number is under way, with the memory of the source free at once", async () => {
    let underWay = 0;
    let most = 0;
    const written: { offset: number; chunk: string }[] = [];
    const { caller, methods } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "environment/info": () => ({ capabilities: { fileWriteStreaming: true } }),
        "fs/writeBlock": async (params) => {
          underWay += 1;
          most = Math.max(most, underWay);
          written.push(params);
          await new Promise((resolve) => setImmediate(resolve));
          underWay -= 1;
          return {};
        },
      }),
    );
    const shared = new Uint8Array(700_000);
    const source = function* () {
      for (let round = 1; round <= 12; round += 1) {
        shared.fill(round);
        yield shared;
      }
    };
    const files = new Files(caller);
    expect(await files.writeStream("/x", source())).toBe(12 * 700_000);
    const bytes = Buffer.concat(written.map(({ chunk }) => Buffer.from(chunk, "base64")));
    const expected = Buffer.concat([...Array(12).keys()].map((round) => Buffer.alloc(700_000, round + 1)));
    expect(Buffer.compare(bytes, expected)).toBe(0);
    expect(written.map(({ offset }) => offset)).toEqual([...Array(9).keys()].map((block) => block * MIB));
    expect(most).toBe(4);
    expect(methods().at(-1)).toBe("fs/close");
    await files.writeStream("/x", []);
    expect(methods().filter((name) => name === "environment/info")).toHaveLength(1);
  });

  it("goes to a server without fs/writeBlock in one message, up to what one holds", async () => {
    const { caller, calls } = fakeCaller({
      "environment/info": () => ({}),
      "fs/writeFile": () => ({}),
    });
    const files = new Files(caller);
    expect(await files.writeStream("/x", [new Uint8Array([1, 2]), new Uint8Array([3])])).toBe(3);
    expect(calls.at(-1)).toEqual({
      method: "fs/writeFile",
      params: { path: "file:///x", dataBase64: "AQID" },
    });
    let given = 0;
    const endless = function* () {
      for (;;) {
        given += 1;
        yield new Uint8Array(8 * MIB);
      }
    };
    await expect(files.writeStream("/x", endless())).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(given).toBe(6);
    expect(calls).toHaveLength(2);
  });

  it("tells a source what it may give", async () => {
    const { caller } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "environment/info": () => ({ capabilities: { fileWriteStreaming: true } }),
      }),
    );
    const texts = ["text"] as unknown as Uint8Array[];
    await expect(new Files(caller).writeStream("/x", texts)).rejects.toThrow(UsageError);
  });

  it.each([
    ["one byte more than was asked for", { chunk: encodeBase64(new Uint8Array(MIB + 1)), eof: false }],
    ["one byte more, and the end", { chunk: encodeBase64(new Uint8Array(MIB + 1)), eof: true }],
    ["twice as much", { chunk: encodeBase64(new Uint8Array(2 * MIB)), eof: false }],
  ])("a block with %s is an error, not an end", async (_, block) => {
    const metadata = { isDirectory: false, isFile: true, isSymlink: false, size: 10 * MIB };
    const { caller } = fakeCaller({
      ...blocksOf(new Uint8Array(10 * MIB)),
      "fs/getMetadata": () => ({ ...metadata, createdAtMs: 0, modifiedAtMs: 0 }),
      "fs/readBlock": () => block,
    });
    await expect(new Files(caller).read("/big")).rejects.toBeInstanceOf(ProtocolError);
  });

  it("a handle that was not asked for is an error, and what was opened is closed", async () => {
    const { caller, methods } = fakeCaller({
      "fs/open": () => ({ handleId: "another" }),
      "fs/close": () => ({}),
    });
    const read = new Files(caller).readStream("/f").next();
    await expect(read).rejects.toBeInstanceOf(ProtocolError);
    expect(methods()).toEqual(["fs/open", "fs/close"]);
  });

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
    const found = { isDirectory: false, isFile: true, isSymlink: false, size: 1 };
    const { caller } = fakeCaller({
      "fs/getMetadata": () => ({ ...found, createdAtMs: ms, modifiedAtMs: ms }),
    });
    const { created, modified } = await new Files(caller).stat("/f");
    expect([created?.getTime(), modified.getTime()]).toEqual([nearest, nearest]);
  });

  it.each(["http://x/", "relative", ""])("a real path %j is an error", async (path) => {
    const { caller } = fakeCaller({ "fs/canonicalize": () => ({ path }) });
    await expect(new Files(caller).realpath("/a")).rejects.toBeInstanceOf(ProtocolError);
  });

  it("sends its sandbox with every call, and with none about an open file", async () => {
    const { caller, calls } = fakeCaller({
      ...blocksOf(new Uint8Array(3)),
      "fs/getMetadata": () => ({}),
      "fs/copy": () => ({}),
    });
    const means = { environment: () => ({ shell: { name: "sh", path: "/bin/sh" }, cwd: "file:///srv" }) };
    const files = new Files(caller, means).within({ write: ["out"] });
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

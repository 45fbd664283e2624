import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import { openStdio, type RawClient } from "./raw-client.ts";

// A client that writes the memory of its own server runs code in it.

const DATA = Buffer.from("x").toString("base64");

let directory: string;
let work: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kernel-files-"));
  work = join(directory, "work");
  mkdirSync(work);
  writeFileSync(join(work, "source"), "x");
  symlinkSync("/proc/self/mem", join(work, "link"));
  symlinkSync("/proc/self", join(work, "self"));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function withClient(config: string, use: (client: RawClient) => Promise<void>): Promise<void> {
  const path = join(directory, "config.toml");
  writeFileSync(path, config);
  await using client = await openStdio(["--config", path]);
  await use(client);
}

/** Every call that opens something to write it, or changes it. */
function writes(path: string): readonly (readonly [method: string, params: object])[] {
  const at = { path: uriFromPath(path) };
  return [
    ["fs/open", { ...at, handleId: "h", mode: "replace" }],
    ["fs/openPart", { ...at, handleId: "h", length: 0 }],
    ["fs/writeFile", { ...at, dataBase64: DATA }],
    ["fs/writeFile", { ...at, dataBase64: DATA, mode: 0o600 }],
    ["fs/writeFile", { ...at, dataBase64: DATA, followSymlinks: false }],
    [
      "fs/copy",
      {
        sourcePath: uriFromPath(join(work, "source")),
        destinationPath: uriFromPath(path),
        recursive: false,
      },
    ],
    ["fs/chmod", { ...at, mode: 0o666 }],
  ];
}

async function expectRefused(client: RawClient, paths: readonly string[]): Promise<void> {
  for (const path of paths)
    for (const [method, params] of writes(path)) {
      const { error } = await client.call(method, params);
      expect([path, method, error?.code], `${JSON.stringify(params)}: ${error?.message}`).not.toEqual([
        path,
        method,
        undefined,
      ]);
      await client.call("fs/close", { handleId: "h" });
    }
}

const OF_THE_PROCESS = ["mem", "comm", "oom_score_adj", "task/self/../../mem"];

describe("a client in a sandbox", () => {
  const config = (): string =>
    `[local]\npreset = "sandboxed"\npolicy = { write = [${JSON.stringify(work)}] }\n`;

  it("writes nothing of the kernel, and no device", async () => {
    await withClient(config(), async (client) => {
      await expectRefused(client, [
        ...OF_THE_PROCESS.map((name) => `/proc/self/${name}`),
        "/proc/thread-self/mem",
        // Through which the helper talks to the server, and is talked to.
        "/proc/self/fd/0",
        "/proc/self/fd/1",
        "/dev/stdout",
        "/proc/1/mem",
        "/proc/1/comm",
        join(work, "link"),
        join(work, "self/mem"),
        join(work, "self/fd/1"),
        "/dev/full",
        "/dev/zero",
        "/dev/tty",
        "/dev/ptmx",
      ]);
    });
  });

  it("says why", async () => {
    await withClient(config(), async (client) => {
      const { error } = await client.call("fs/open", {
        handleId: "h",
        path: uriFromPath(join(work, "link")),
        mode: "replace",
      });
      expect(error).toMatchObject({ code: -32600, data: { code: "PERMISSION_DENIED" } });
      expect(error!.message).toBe(
        `path \`${join(work, "link")}\` is a device or a kernel file, which cannot be written with roots or a sandbox`,
      );
    });
  });

  it("still writes /dev/null and named pipes, and reads /proc", async () => {
    await withClient(config(), async (client) => {
      expect(await client.call("fs/writeFile", { path: "file:///dev/null", dataBase64: DATA })).toMatchObject(
        { result: {} },
      );
      const pipe = join(work, "pipe");
      const reader = spawn("sh", ["-c", 'mkfifo "$0" && echo made && cat "$0"', pipe]);
      const said: string[] = [];
      reader.stdout.on("data", (text: Buffer) => said.push(text.toString()));
      const ended = once(reader, "close");
      await once(reader.stdout, "data");
      let written: Awaited<ReturnType<RawClient["call"]>>;
      // Until the reader has opened it.
      do written = await client.call("fs/writeFile", { path: uriFromPath(pipe), dataBase64: DATA });
      while (written.error?.message.includes("os error 6)"));
      expect(written).toMatchObject({ result: {} });
      await ended;
      expect(said.join("")).toBe("made\nx");
      for (const path of ["/proc/self/status", "/proc/meminfo"])
        expect(await client.call("fs/readFile", { path: uriFromPath(path) })).toHaveProperty("result");
    });
  });
});

describe("a client with roots", () => {
  it.each([
    ["its own", () => `[local]\npreset = "files"\nroots = ["/proc", "/dev", ${JSON.stringify(work)}]\n`],
    ["of the server", () => `[limits]\nfs_roots = ["/"]\n`],
  ])("that are %s has nothing of processes, and writes no device", async (_, config) => {
    await withClient(config(), async (client) => {
      const processes = [
        ...OF_THE_PROCESS.map((name) => `/proc/self/${name}`),
        `/proc/${process.pid}/mem`,
        join(work, "link"),
      ];
      await expectRefused(client, [...processes, "/dev/full", "/dev/zero", "/dev/ptmx"]);
      for (const path of [
        ...processes,
        "/proc/self/environ",
        "/proc",
        "/proc/meminfo",
        "/proc/self/exe",
        join(work, "self"),
      ])
        for (const method of [
          "fs/readFile",
          "fs/getMetadata",
          "fs/readDirectory",
          "fs/open",
          "fs/canonicalize",
        ])
          for (const followSymlinks of [true, false]) {
            const { error } = await client.call(method, {
              path: uriFromPath(path),
              followSymlinks,
              handleId: "h",
            });
            expect(error, `${method} ${path}`).toBeDefined();
          }
    });
  });
});

describe("a client with full rights", () => {
  it("writes what the kernel lets it, but not the server's own process", async () => {
    const child = spawn("sleep", ["300"]);
    try {
      await withClient("", async (client) => {
        const { result } = await client.call("fs/readLink", { path: "file:///proc/self" });
        const pid = String(result!["target"]);
        await expectRefused(client, [
          "/proc/self/mem",
          "/proc/thread-self/mem",
          `/proc/${pid}/mem`,
          `/proc/${pid}/task/${pid}/mem`,
          join(work, "link"),
        ]);
        const comm = `/proc/${child.pid}/oom_score_adj`;
        const params = { path: uriFromPath(comm), dataBase64: Buffer.from("500").toString("base64") };
        expect(await client.call("fs/writeFile", params)).toMatchObject({ result: {} });
        expect(readFileSync(comm, "utf8")).toBe("500\n");
      });
    } finally {
      child.kill("SIGKILL");
    }
  });
});

import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { withDeadline } from "../fault/deadline.ts";
import { startServer } from "../fault/server-under-test.ts";
import { Relay } from "./relay.ts";

const MIB = 1024 * 1024;
const DEADLINE_MS = 60_000;

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function withHost(
  use: (context: { host: Host; relay: Relay; directory: string }) => Promise<void>,
  { codex = false } = {},
): Promise<void> {
  await using server = await startServer({ codex });
  await using relay = await Relay.open(server.port);
  const directory = await mkdtemp(join(tmpdir(), "exec-server-blobs-"));
  const host = await connect(relay.url);
  try {
    await withDeadline(use({ host, relay, directory }), DEADLINE_MS, () => "the transfer");
  } finally {
    await host.close();
    await rm(directory, { recursive: true, force: true });
  }
}

test("a Blob that is written continues after cuts, without sending again what has arrived", () =>
  withHost(async ({ host, relay, directory }) => {
    const bytes = randomBytes(24 * MIB + 7);
    const cuts = [5 * MIB, 12 * MIB, 20 * MIB];
    await host.files.writeBlob(join(directory, "b"), new Blob([bytes]), {
      onProgress: (sent) => {
        if (cuts[0] === undefined || sent < cuts[0]) return;
        cuts.shift();
        relay.cut();
      },
    });
    expect(cuts).toEqual([]);
    expect(digest(await readFile(join(directory, "b")))).toBe(digest(bytes));
    expect(await readdir(directory)).toEqual(["b"]);
    // A start from the beginning after each cut would send more than twice as much. Base64 adds a third.
    expect(relay.bytes).toBeLessThan(bytes.length * 1.34 * 1.8);
  }));

test("a Blob that is written to the real server continues after a cut", () =>
  withHost(
    async ({ host, relay, directory }) => {
      const bytes = randomBytes(6 * MIB);
      let isCut = false;
      await host.files.writeBlob(join(directory, "b"), new Blob([bytes]), {
        onProgress: (sent) => {
          if (isCut || sent < 3 * MIB) return;
          isCut = true;
          relay.cut();
        },
      });
      expect(isCut).toBe(true);
      expect(digest(await readFile(join(directory, "b")))).toBe(digest(bytes));
    },
    { codex: true },
  ));

test("a Blob replaces a file with its permissions, through a link, and an empty one makes an empty file", () =>
  withHost(async ({ host, directory }) => {
    const [file, link] = [join(directory, "f"), join(directory, "l")];
    await writeFile(file, "old");
    await chmod(file, 0o640);
    await symlink("f", link);
    await host.files.writeBlob(link, new Blob(["new"]));
    expect(await readFile(file, "utf8")).toBe("new");
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    await host.files.writeBlob(file, new Blob([]));
    expect((await stat(file)).size).toBe(0);
    expect((await readdir(directory)).toSorted()).toEqual(["f", "l"]);
    await mkdir(join(directory, "d"));
    await expect(host.files.writeBlob(join(directory, "d"), new Blob(["x"]))).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  }));

test("a Blob that is stopped leaves the old file and no part", () =>
  withHost(async ({ host, directory }) => {
    const file = join(directory, "f");
    await writeFile(file, "old");
    const stopping = new AbortController();
    const writing = host.files.writeBlob(file, new Blob([randomBytes(20 * MIB)]), {
      signal: stopping.signal,
      onProgress: (sent) => sent > 4 * MIB && stopping.abort(new Error("stopped")),
    });
    await expect(writing).rejects.toThrow("stopped");
    // Requests keep their order: the part is removed before this answer.
    await host.files.exists(file);
    expect(await readdir(directory)).toEqual(["f"]);
    expect(await readFile(file, "utf8")).toBe("old");
  }));

test("a part that a session has left is continued or removed by another call, and errors name the file, not its part", () =>
  withHost(async ({ host, relay, directory }) => {
    const bytes = randomBytes(6 * MIB);
    const [path, part] = [join(directory, "b"), "left-behind"];
    const left = join(directory, `.exec-server-part-${part}`);
    await writeFile(left, bytes.subarray(0, 4 * MIB));
    const before = relay.bytes;
    await host.files.writeBlob(path, new Blob([bytes]), { part });
    expect(digest(await readFile(path))).toBe(digest(bytes));
    expect(relay.bytes - before).toBeLessThan(4 * MIB);
    await writeFile(left, bytes.subarray(0, MIB));
    const stopped = host.files.writeBlob(path, new Blob([bytes]), { part, signal: AbortSignal.abort() });
    await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(() => readdir(directory), { timeout: DEADLINE_MS }).toEqual(["b"]);
    const nowhere = join(directory, "none/b");
    await expect(host.files.writeBlob(nowhere, new Blob(["x"]))).rejects.toMatchObject({
      code: "NOT_FOUND",
      path: nowhere,
      message: expect.stringMatching(/^write [^ ]*\/none\/b: /) as unknown,
    });
    await expect(host.files.writeBlob(path, new Blob([]), { part: "../b" })).rejects.toThrow("part must be");
  }));

test("a file that is read with resume continues after cuts, and nothing is missing or doubled", () =>
  withHost(async ({ host, relay, directory }) => {
    const file = join(directory, "f");
    const bytes = randomBytes(16 * MIB + 3);
    await writeFile(file, bytes);
    const hash = createHash("sha256");
    const cuts = [2 * MIB, 9 * MIB];
    let length = 0;
    for await (const block of host.files.readStream(file, { resume: true })) {
      hash.update(block);
      length += block.length;
      if (cuts[0] === undefined || length < cuts[0]) continue;
      cuts.shift();
      relay.cut();
    }
    expect(cuts).toEqual([]);
    expect(hash.digest("hex")).toBe(digest(bytes));
  }));

test.each([
  ["of another size", 17 * MIB],
  ["shorter", 2 * MIB],
])("a file that is %s when it is resumed is an error", (_, size) =>
  withHost(async ({ host, relay, directory }) => {
    const file = join(directory, "f");
    await writeFile(file, randomBytes(16 * MIB));
    const reading = async (): Promise<void> => {
      let isCut = false;
      for await (const _ of host.files.readStream(file, { resume: true })) {
        if (isCut) continue;
        isCut = true;
        relay.refuses = true;
        relay.cut();
        await writeFile(file, randomBytes(size));
        relay.refuses = false;
      }
    };
    await expect(reading()).rejects.toMatchObject({ code: "OS_ERROR", path: file });
  }),
);

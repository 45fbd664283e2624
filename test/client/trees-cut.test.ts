import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConnectionError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { TreeProgress } from "../../src/client/files/trees.ts";
import type { Host } from "../../src/client/host/host.ts";
import { withDeadline } from "../fault/deadline.ts";
import { startServer } from "../fault/server-under-test.ts";
import { Relay } from "./relay.ts";

const MIB = 1024 * 1024;
const DEADLINE_MS = 60_000;
const CUTS_AT = [2 * MIB, 9 * MIB, 14 * MIB];

const digest = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

test.each([
  ["uploadTree", "our server", false],
  ["downloadTree", "our server", false],
  ["uploadTree", "the real server", true],
  ["downloadTree", "the real server", true],
] as const)(
  "%s from or to %s goes on after cuts, and nothing is missing or doubled",
  async (operation, _, codex) => {
    await using server = await startServer({ codex });
    await using relay = await Relay.open(server.port);
    const directory = await mkdtemp(join(tmpdir(), "exec-server-cut-trees-"));
    const [from, to] = [join(directory, "from"), join(directory, "to")];
    await mkdir(from);
    const names = ["a", "b", "c", "large"];
    for (const name of names)
      await writeFile(join(from, name), randomBytes(name === "large" ? 12 * MIB + 5 : 2 * MIB));
    for (let index = 0; index < 50; index += 1) await writeFile(join(from, `small-${index}`), `${index}`);
    const host = await connect(relay.url);
    try {
      const cuts = [...CUTS_AT];
      let copied = 0;
      const onProgress = ({ bytes }: TreeProgress): void => {
        // A download continues where it was; an upload starts the file again.
        if (operation === "downloadTree") expect(bytes).toBeGreaterThanOrEqual(copied);
        copied = bytes;
        if (cuts[0] === undefined || bytes < cuts[0]) return;
        cuts.shift();
        relay.cut();
      };
      const copying = host.files[operation](from, to, { onProgress });
      const result = await withDeadline(copying, DEADLINE_MS, () => operation);
      expect(cuts).toEqual([]);
      expect(result).toMatchObject({ files: 54, bytes: 18 * MIB + 5 + 90 });
      expect((await readdir(to)).toSorted()).toEqual((await readdir(from)).toSorted());
      for (const name of names)
        expect(await digest(join(to, name)), name).toBe(await digest(join(from, name)));
      for (let index = 0; index < 50; index += 1)
        expect(await readFile(join(to, `small-${index}`), "utf8")).toBe(`${index}`);
    } finally {
      await host.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
);

test.each(["uploadTree", "downloadTree"] as const)(
  "%s fails with a ConnectionError when the server is gone for good, and leaves no part of a file here",
  async (operation) => {
    const server = await startServer({ codex: false });
    const relay = await Relay.open(server.port);
    const directory = await mkdtemp(join(tmpdir(), "exec-server-cut-trees-"));
    const [from, to] = [join(directory, "from"), join(directory, "to")];
    await mkdir(from);
    await writeFile(join(from, "large"), randomBytes(12 * MIB));
    let host: Host | undefined;
    try {
      host = await connect(relay.url, { recoveryTimeoutMs: 500 });
      let ended = false;
      const onProgress = ({ bytes }: TreeProgress): void => {
        if (ended || bytes < 3 * MIB) return;
        ended = true;
        void relay[Symbol.asyncDispose]();
      };
      const copying = host.files[operation](from, to, { onProgress });
      await expect(withDeadline(copying, DEADLINE_MS, () => operation)).rejects.toBeInstanceOf(
        ConnectionError,
      );
      if (operation === "downloadTree") expect(await readdir(to)).toEqual([]);
    } finally {
      await host?.close();
      await relay[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    }
  },
);

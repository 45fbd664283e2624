import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pollUntil } from "../../../test/fault/deadline.ts";
import type { RightsContext } from "./rights.ts";
import { TokenTable } from "./token-table.ts";

const DEADLINE_MS = 20_000;
const MAX_GROWTH_BYTES = 100 * 1024 * 1024;

function entry(name: string, rest = 'preset = "full"'): string {
  const sha256 = createHash("sha256").update(name).digest("hex");
  return `[[token]]\nname = "${name}"\nsha256 = "${sha256}"\n${rest}\n`;
}

/** A pipe would stop whoever opens it to write. */
function write(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  rmSync(path, { recursive: true, force: true });
  renameSync(`${path}.new`, path);
}

function recording(reasons: string[]): RightsContext {
  return {
    temporaryDirectory: undefined,
    hiddenPaths: [],
    fsRoots: [],
    logger: {
      error: (_, fields) => void reasons.push(String(fields?.["reason"])),
      warn: () => {},
      info: () => {},
      debug: () => {},
    },
  };
}

it.concurrent.each<[string, string, (path: string) => void]>([
  ["a pipe", "not a regular file", (path) => void execFileSync("mkfifo", [path])],
  ["a directory", "not a regular file", (path) => mkdirSync(path)],
  ["a link to an endless device", "not a regular file", (path) => symlinkSync("/dev/zero", path)],
  ["a link to itself", "link loop", (path) => symlinkSync(path, path)],
  [
    "a huge file",
    "has more than 1048576 bytes",
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 3 * 1024 ** 3);
    },
  ],
  [
    "a table with roots that are no paths",
    "roots must be a list of absolute paths",
    (path) => write(path, entry("bob", 'preset = "files"\nroots = [{ path = "/tmp" }]')),
  ],
])("%s in place of the table keeps the one before in force, and the next table is read", async (...given) => {
  const [, message, replace] = given;
  const directory = mkdtempSync(join(tmpdir(), "table-"));
  const path = join(directory, "tokens.toml");
  write(path, entry("ann") + entry("bob"));
  const reasons: string[] = [];
  const table = await TokenTable.open(path, recording(reasons));
  try {
    const ann = table.check("ann");
    if (!("credential" in ann)) throw new Error(ann.refusal);
    const before = process.memoryUsage().rss;
    rmSync(path);
    replace(path);
    await pollUntil(
      () => reasons.length > 0,
      DEADLINE_MS,
      () => "the complaint",
    );
    expect(reasons).toEqual([expect.stringContaining(message)]);
    expect(process.memoryUsage().rss - before).toBeLessThan(MAX_GROWTH_BYTES);
    expect(ann.credential.withdrawn?.aborted).toBe(false);
    expect(table.check("ann")).toHaveProperty("credential");
    write(path, entry("bob"));
    await pollUntil(
      () => ann.credential.withdrawn?.aborted === true,
      DEADLINE_MS,
      () => "the withdrawal",
    );
    expect(table.check("ann")).toEqual({ refusal: "invalid websocket bearer token" });
    expect(table.check("bob")).toHaveProperty("credential");
  } finally {
    table.close();
    rmSync(directory, { recursive: true });
  }
});

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
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { pollUntil } from "../../../test/fault/deadline.ts";
import { type LogFields, silentLogger } from "../../base/logger.ts";
import type { Rights } from "./rights.ts";
import { rightsFormat } from "./token-file.ts";
import { TokenTable } from "./token-table.ts";

const DEADLINE_MS = 20_000;
const MAX_GROWTH_BYTES = 100 * 1024 * 1024;

function entry(name: string, rest = 'preset = "full"'): string {
  const sha256 = createHash("sha256").update(name).digest("hex");
  return `[[token]]\nname = "${name}"\nsha256 = "${sha256}"\n${rest}\n`;
}

/** Opening a pipe for writing would block. */
function write(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  rmSync(path, { recursive: true, force: true });
  renameSync(`${path}.new`, path);
}

function open(path: string, reasons: string[]): Promise<TokenTable<Rights>> {
  const logger = {
    ...silentLogger,
    error: (_: string, fields?: LogFields) => void reasons.push(String(fields?.["reason"])),
  };
  const context = { temporaryDirectory: undefined, hiddenPaths: [], fsRoots: [], logger };
  return TokenTable.open(path, rightsFormat(context), logger);
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
  const table = await open(path, reasons);
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
    expect(ann.credential.withdrawn.aborted).toBe(false);
    expect(table.check("ann")).toHaveProperty("credential");
    write(path, entry("bob"));
    await pollUntil(
      () => ann.credential.withdrawn.aborted,
      DEADLINE_MS,
      () => "the withdrawal",
    );
    expect(table.check("ann")).toEqual({ refusal: "invalid" });
    expect(table.check("bob")).toHaveProperty("credential");
  } finally {
    table.close();
    rmSync(directory, { recursive: true });
  }
});

describe("a table that changes", () => {
  const READ_MS = 500;
  const SETTLE_MS = 100;
  const EMPTY_SETTLE_MS = 5_000;
  let path: string;
  let reasons: string[];
  let table: TokenTable<Rights>;

  beforeEach(async () => {
    const directory = mkdtempSync(join(tmpdir(), "table-"));
    path = join(directory, "tokens.toml");
    reasons = [];
    write(path, entry("ann") + entry("bob"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    table = await open(path, reasons);
    onTestFinished(() => {
      table.close();
      rmSync(directory, { recursive: true });
    });
  });
  afterEach(() => void vi.useRealTimers());

  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  const isAdmitted = (name: string): boolean => "credential" in table.check(name);
  const credentialOf = (name: string) => {
    const answer = table.check(name);
    if (!("credential" in answer)) throw new Error(answer.refusal);
    return answer.credential;
  };

  it("is read once it stays the same for a while, so that half of one is never in force", async () => {
    const bob = credentialOf("bob");
    write(path, entry("ann"));
    await pass(READ_MS);
    expect([isAdmitted("bob"), bob.withdrawn?.aborted]).toEqual([true, false]);
    write(path, entry("ann") + entry("cat"));
    await pass(SETTLE_MS);
    expect([isAdmitted("bob"), isAdmitted("cat")]).toEqual([true, false]);
    await pass(SETTLE_MS);
    expect([isAdmitted("bob"), isAdmitted("cat"), bob.withdrawn?.aborted]).toEqual([false, true, true]);
    expect(reasons).toEqual([]);
  });

  it("keeps the connections of tokens that are the same, and ends those of others", async () => {
    const [ann, bob] = [credentialOf("ann"), credentialOf("bob")];
    write(path, entry("cat") + entry("bob", 'preset = "observe"') + entry("ann"));
    await pass(READ_MS + SETTLE_MS);
    expect([ann.withdrawn?.aborted, bob.withdrawn?.aborted]).toEqual([false, true]);
    expect(credentialOf("ann").withdrawn).toBe(ann.withdrawn);
    expect(credentialOf("bob")).toMatchObject({
      name: "bob",
      rights: { preset: "observe" },
    });
    write(path, entry("ann", 'preset = "full"\nexpires = 2100-01-01T00:00:00Z'));
    await pass(READ_MS + SETTLE_MS);
    expect(ann.withdrawn?.aborted).toBe(true);
  });

  it("admits no clients once it has been empty for long enough that nobody is writing it", async () => {
    write(path, "\n");
    await pass(READ_MS + EMPTY_SETTLE_MS - 1);
    expect(isAdmitted("ann")).toBe(true);
    await pass(1);
    expect(isAdmitted("ann")).toBe(false);
  });

  it("has its fault reported once, and again if it comes back", async () => {
    const good = entry("ann");
    const fault = [expect.stringContaining("preset must be one of")];
    write(path, entry("ann", ""));
    await pass(3 * READ_MS);
    expect(reasons).toEqual(fault);
    write(path, good);
    await pass(READ_MS + SETTLE_MS);
    write(path, entry("ann", ""));
    await pass(3 * READ_MS);
    expect(reasons).toEqual([...fault, ...fault]);
  });

  it("is not read after it is closed", async () => {
    table.close();
    expect(vi.getTimerCount()).toBe(0);
    write(path, entry("ann"));
    await pass(10 * READ_MS);
    expect(isAdmitted("bob")).toBe(true);
  });

  it("is not read on if it is closed in the middle", async () => {
    write(path, "");
    await pass(READ_MS);
    table.close();
    write(path, entry("cat"));
    await pass(EMPTY_SETTLE_MS);
    expect([isAdmitted("cat"), vi.getTimerCount()]).toEqual([false, 0]);
  });

  it("refuses a token from the moment at which it expires", async () => {
    vi.setSystemTime(new Date("2026-01-01T00:00:00Z"));
    write(path, entry("ann", 'preset = "full"\nexpires = 2026-01-01T00:00:10Z'));
    await pass(READ_MS + SETTLE_MS);
    const expiresAtMs = Date.parse("2026-01-01T00:00:10Z");
    expect(credentialOf("ann").expiresAtMs).toBe(expiresAtMs);
    vi.setSystemTime(expiresAtMs - 1);
    expect(isAdmitted("ann")).toBe(true);
    vi.setSystemTime(expiresAtMs);
    expect(table.check("ann")).toEqual({ refusal: "expired" });
  });
});

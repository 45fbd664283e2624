import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadKem } from "../../noise/kem.ts";
import { fingerprint, KeyPair } from "../../noise/keys.ts";
import { readAuthorizedClients } from "./relay-keys.ts";

const { publicKey: key } = new KeyPair(await loadKem());

let directory: string;
let path: string;
let told: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "relay-keys-"));
  path = join(directory, "clients");
  told = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told.push(String(text));
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

const list = (): void => writeFileSync(path, `# people\n${fingerprint(key)} ann\n`);
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("a list is read again when it has changed", async () => {
  list();
  const isAuthorized = readAuthorizedClients(path);
  expect(isAuthorized(key)).toBe(true);
  writeFileSync(path, "");
  await nextTurn();
  expect(isAuthorized(key)).toBe(false);
  list();
  await nextTurn();
  expect(isAuthorized(key)).toBe(true);
});

describe.each<[string, () => void, string]>([
  ["a device without an end", () => symlinkSync("/dev/zero", path), "it is not a regular file"],
  ["a pipe", () => execFileSync("mkfifo", [path], { stdio: "ignore" }), "it is not a regular file"],
  ["larger than 1 MiB", () => writeFileSync(path, Buffer.alloc(2 ** 20 + 1, "#")), "more than 1048576 bytes"],
  ["gone", () => {}, "No such file or directory"],
])("a list that is %s", (_what, replace, why) => {
  test("is refused at the start", () => {
    replace();
    expect(() => readAuthorizedClients(path)).toThrow(why);
  });

  test("admits nobody, and is reported once", async () => {
    list();
    const isAuthorized = readAuthorizedClients(path);
    rmSync(path);
    replace();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(isAuthorized(key)).toBe(false);
      await nextTurn();
    }
    expect(told).toEqual([expect.stringContaining(why)]);
    expect(told[0]!.split(path)).toHaveLength(2);
  });
});

test("a line that is not a fingerprint is named once", async () => {
  list();
  const isAuthorized = readAuthorizedClients(path);
  writeFileSync(path, "ann\n");
  await nextTurn();
  isAuthorized(key);
  expect(told).toEqual([
    `no client is admitted: ${path}, line 1: expected a fingerprint such as SHA256:dGhl…, not 'ann'\n`,
  ]);
});

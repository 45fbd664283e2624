import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { StartRequest } from "./start-request.ts";
import { trySandbox } from "./sandbox-trial.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "trial-"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/** What a trial starts, while `during` looks around. */
async function started(during: () => void = () => {}): Promise<StartRequest> {
  let request: StartRequest | undefined;
  const start = (given: StartRequest): never => {
    request = given;
    during();
    throw new Error("enough");
  };
  await expect(trySandbox(start)).rejects.toThrow("enough");
  return request!;
}

it("a trial makes nothing in the temporary directory, where sandboxes of others may write", async () => {
  vi.stubEnv("TMPDIR", directory);
  let names: string[] | undefined;
  const { argv } = await started(() => (names = readdirSync(directory)));
  expect(names).toEqual([]);
  expect(argv).toContainEqual(expect.stringMatching(`^${directory}/exec-server-trial-`));
});

it("a trial reads nothing and ends by itself", async () => {
  expect(await started()).toMatchObject({ stdin: "none", timeoutMs: expect.any(Number) as number });
});

it("what is hidden does not contain where the trial attempts to write", async () => {
  const place = mkdtempSync("/var/tmp/trial-");
  try {
    for (const temporary of [directory, place]) {
      vi.stubEnv("TMPDIR", temporary);
      const { argv, confinement } = await started();
      const [hidden, ...others] = confinement!.view.mounts;
      expect([hidden?.kind, others]).toEqual(["hiddenDirectory", []]);
      expect(temporary.startsWith(`${hidden!.path}/`)).toBe(false);
      expect(readdirSync(hidden!.path)).toContain(argv.at(-2));
    }
  } finally {
    rmSync(place, { recursive: true });
  }
});

it("a temporary directory that does not exist makes the trial fail instead of proving nothing", async () => {
  vi.stubEnv("TMPDIR", join(directory, "missing"));
  await expect(trySandbox(() => expect.unreachable())).rejects.toThrow("ENOENT");
  mkdirSync(join(directory, "missing"));
  await started();
});

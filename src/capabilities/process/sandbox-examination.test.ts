import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { readStat } from "../../native/process-stat.ts";
import { examineSandbox } from "./sandbox-examination.ts";

function install(script: string): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "bwrap"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(directory, "bwrap"), 0o755);
  return directory;
}

const states = (checks: readonly { name: string; ok: boolean }[]): string[] =>
  checks.map(({ name, ok }) => `${name} ${ok ? "passed" : "failed"}`);

it("ends with the first check without which the others make no sense", async () => {
  const { ok, checks } = await examineSandbox("/nowhere");
  expect(ok).toBe(false);
  expect(states(checks)).toEqual(["server passed", "bubblewrap failed"]);
  expect(checks.at(-1)).toMatchObject({ detail: "bubblewrap is not installed" });
});

it("says what bubblewrap said when nothing runs inside", async () => {
  const { ok, checks } = await examineSandbox(
    install('[ "$1" = --version ] && echo "bubblewrap 0.8.0"; [ "$1" = --help ] || echo "(ENOSPC)" >&2'),
  );
  expect(ok).toBe(false);
  expect(states(checks)).toEqual(["server passed", "bubblewrap passed", "start failed"]);
  expect(checks.at(-1)).toMatchObject({ said: "(ENOSPC)", detail: expect.stringContaining("namespaces") });
});

it("reports a program that disappears before it is used", async () => {
  const { ok, checks } = await examineSandbox(
    install('case $1 in --version) echo "bubblewrap 0.8.0";; --help) rm "$0";; esac'),
  );
  expect(ok).toBe(false);
  expect(states(checks)).toEqual(["server passed", "bubblewrap passed", "start failed"]);
});

it("ends what is left of its programs", async () => {
  const left = join(temporaryDirectory(), "pid");
  const leave = `sleep 600 > /dev/null 2>&1 & echo $! > ${left}`;
  await examineSandbox(
    install(`case $1 in --version) echo "bubblewrap 0.8.0";; --help) ;; *) ${leave};; esac`),
  );
  const pid = Number(readFileSync(left, "utf8"));
  await expect.poll(() => readStat(pid)?.alive ?? false).toBe(false);
});

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nkeys } from "@nats-io/transport-node";
import { expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../deploy/nats/new-nkey.mjs", import.meta.url));

it("new-nkey.mjs makes keys that the library of NATS reads, without that library", () => {
  const directory = mkdtempSync(join(tmpdir(), "exec-server-nkey-"));
  try {
    for (let round = 0; round < 5; round += 1) {
      const file = join(directory, `${round}.nk`);
      const printed = execFileSync(process.execPath, [PROGRAM, file], { encoding: "utf8" }).trim();
      const seed = readFileSync(file, "utf8").trim();
      const pair = nkeys.fromSeed(Buffer.from(seed));
      expect(pair.getPublicKey()).toBe(printed);
      const text = Buffer.from("to sign");
      expect(nkeys.fromPublic(printed).verify(text, pair.sign(text))).toBe(true);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(() =>
      execFileSync(process.execPath, [PROGRAM, join(directory, "0.nk")], { stdio: "pipe" }),
    ).toThrow("file already exists");
    expect(readFileSync(PROGRAM, "utf8")).not.toMatch(/from "[^n]/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

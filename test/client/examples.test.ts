import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const EXAMPLES = join(PACKAGE, "examples");
const DEADLINE_MS = 60_000;

const run = promisify(execFile);
let programs = "";

// They run inside the package, so that `exec-server` is the built library, as for its users.
beforeAll(async () => {
  programs = await mkdtemp(join(PACKAGE, ".cache", "examples-"));
});

afterAll(() => rm(programs, { recursive: true, force: true }));

const names = (await readdir(EXAMPLES)).filter((name) => name.endsWith(".ts"));

it("are there", () => expect(names.length).toBeGreaterThanOrEqual(8));

describe.each(names)("examples/%s", (name) => {
  it("says what is true, and ends by itself", async () => {
    const program = join(programs, `${name}.mjs`);
    await build({
      entryPoints: [join(EXAMPLES, name)],
      outfile: program,
      bundle: true,
      packages: "external",
      platform: "node",
      target: "node20",
      format: "esm",
    });
    const { stderr } = await run(process.execPath, [program], { timeout: DEADLINE_MS });
    expect(stderr).toBe("");
  });
});

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../scripts/generate-command-line-page.mjs", import.meta.url));

test("every command prints what the page of the command line shows", async () => {
  await promisify(execFile)(process.execPath, [SCRIPT, "--check"]);
});

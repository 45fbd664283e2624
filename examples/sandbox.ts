// Runs commands in a sandbox: one directory is writable, one file in it is hidden, and there is no network.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectLocal } from "exec-server";

// `connectLocal` runs the server on this machine, so the directory is there too.
const cwd = await mkdtemp("/var/tmp/sandbox-example-");
await writeFile(join(cwd, ".env"), "PASSWORD=secret\n");
try {
  await using host = await connectLocal();
  const sandbox = { write: ["."], deny: ["**/.env"] };

  const inside = await host.run(["sh", "-c", "echo done > result && cat result"], { cwd, sandbox });
  assert.equal(inside.stdout, "done\n");

  const outside = await host.run(["touch", "/var/tmp/sandbox-example-outside"], { cwd, sandbox });
  assert.match(outside.stderr, /Read-only file system/);
  assert.ok(outside.sandboxDenied);

  const hidden = await host.run(["cat", ".env"], { cwd, sandbox });
  assert.match(hidden.stderr, /Permission denied/);

  // Calls on files can have the same sandbox.
  const files = host.files.within(sandbox, { cwd });
  await files.write(join(cwd, "notes.txt"), "written inside");
  await assert.rejects(files.readText(join(cwd, ".env")), { code: "PERMISSION_DENIED" });
  await assert.rejects(files.write("/var/tmp/sandbox-example-outside", ""), { errno: "EROFS" });
} finally {
  await rm(cwd, { recursive: true });
}

// Copies a directory to the server's machine, changes it there, and copies it back.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectLocal, type TreeEntry, type TreeProgress } from "exec-server";

const local = await mkdtemp(join(tmpdir(), "trees-"));
await mkdir(join(local, "project/node_modules"), { recursive: true });
await writeFile(join(local, "project/node_modules/large.js"), "// not needed there");
await writeFile(join(local, "project/build.sh"), "#!/bin/sh\necho built > result\n", { mode: 0o755 });
await symlink("build.sh", join(local, "project/make"));

await using host = await connectLocal();
const remote = (await host.run(["mktemp", "-d"], { check: true })).stdout.trim();

const paths: string[] = [];
const sent = await host.files.uploadTree(join(local, "project"), `${remote}/project`, {
  filter: ({ path }: TreeEntry) => path !== "node_modules",
  onProgress: ({ path }: TreeProgress) => paths.push(path),
  signal: AbortSignal.timeout(60_000),
});
assert.deepEqual([sent.files, sent.directories, sent.links], [1, 1, 1]);
assert.ok(paths.includes("build.sh"));

// The script is still executable, and the link still a link.
await host.run(["./make"], { cwd: `${remote}/project`, check: true });
await host.files.chmod(`${remote}/project/result`, 0o600);

await host.files.downloadTree(`${remote}/project`, join(local, "back"));
assert.equal(await readFile(join(local, "back/result"), "utf8"), "built\n");
assert.equal((await stat(join(local, "back/result"))).mode & 0o777, 0o600);
assert.equal(await readlink(join(local, "back/make")), "build.sh");

await host.files.remove(remote, { recursive: true });
await rm(local, { recursive: true });

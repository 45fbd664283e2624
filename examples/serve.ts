// A server in this program that others can connect to: by a socket that only this user can use.
import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "exec-server";
import { serve } from "exec-server/server";

const directory = await mkdtemp(join(tmpdir(), "serve-"));
const path = join(directory, "exec.sock");
{
  await using server = await serve({ listen: `unix://${path}`, environment: process.env });
  assert.equal((await stat(path)).mode & 0o777, 0o600);

  // Another program would do this.
  await using host = await connect(server.url);
  assert.equal((await host.run(["echo", "hello"])).stdout, "hello\n");
}
await rm(directory, { recursive: true });

// A server in the same program: no connection, no encoding, the same host.
import assert from "node:assert/strict";
import { connect } from "exec-server";
import { createServer } from "exec-server/server";

const server = createServer({ environment: process.env });
{
  await using host = await connect(server);
  assert.equal((await host.run(["echo", "hello"])).stdout, "hello\n");
}
await server.close();

// A kept process continues when its client leaves; another client finds it by its name and takes control.
import assert from "node:assert/strict";
import { connect } from "exec-server";
import { serve } from "exec-server/server";

await using server = await serve({ environment: process.env });
const { url } = server;

{
  await using host = await connect(url);
  await host.start(["sh", "-c", 'while read line; do echo "got $line"; done'], {
    stdin: "pipe",
    keep: "worker",
  });
} // The session ends; the process continues.

{
  await using host = await connect(url);
  const worker = await host.attachKept("worker", { mode: "control" });
  await worker.write("hello\n");
  for await (const line of worker.lines()) {
    assert.equal(line, "got hello");
    break;
  }
  await worker.detach();

  const [listed] = await host.processes({ scope: "kept" });
  assert.equal(listed?.name, "worker");
  assert.equal(listed?.state, "running");
}

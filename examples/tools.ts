// Gives a language model the tools `exec_command` and `write_stdin`. The model's calls are hard-coded here.
import assert from "node:assert/strict";
import { connectLocal, createExecTools, execToolDefinitions, toText } from "exec-server";

assert.deepEqual(
  execToolDefinitions.map(({ name }) => name),
  ["exec_command", "write_stdin"],
);

await using host = await connectLocal();
const tools = createExecTools(host);

const started = await tools.exec_command({
  cmd: "read name; echo hello $name",
  tty: true,
  yield_time_ms: 250,
});
assert.ok(started.session_id !== undefined, "it waits for input, so it is still running");
const finished = await tools.write_stdin({
  session_id: started.session_id,
  chars: "world\n",
  yield_time_ms: 5000,
});
assert.equal(finished.exit_code, 0);
assert.match(toText(finished), /hello world/);
await tools.close();

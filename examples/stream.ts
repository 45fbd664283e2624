// Streams the output of a process, with a deadline, and checks its exit code.
import assert from "node:assert/strict";
import { connectLocal } from "exec-server";

await using host = await connectLocal();
await using build = await host.start(["sh", "-c", "echo compiling; echo careful >&2; exit 3"], {
  signal: AbortSignal.timeout(60_000),
});
const lines: Record<string, string> = {};
for await (const { stream, bytes } of build.output())
  lines[stream] = (lines[stream] ?? "") + new TextDecoder().decode(bytes);

assert.deepEqual(lines, { stdout: "compiling\n", stderr: "careful\n" });
assert.equal((await build.exited).exitCode, 3);

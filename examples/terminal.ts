// Runs a program on a terminal and sends it input.
import assert from "node:assert/strict";
import { connectLocal } from "exec-server";

await using host = await connectLocal();
await using shell = await host.terminal(["sh"], { cols: 100, rows: 30 });
await shell.write("stty size\nexit 7\n");

let screen = "";
for await (const { bytes } of shell.output()) screen += new TextDecoder().decode(bytes);
assert.match(screen, /30 100/);
assert.equal((await shell.exited).exitCode, 7);

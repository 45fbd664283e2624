// Reads lines, pipes streams in and out, and runs scripts with values in them.
import assert from "node:assert/strict";
import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { connectLocal } from "exec-server";

await using host = await connectLocal();

// Lines of stdout, decoded.
await using count = await host.start(["seq", "3"]);
const lines: string[] = [];
for await (const line of count.lines()) lines.push(line);
assert.deepEqual(lines, ["1", "2", "3"]);

// Input from a stream; output to one.
const sorted = await host.run(["sort"], { input: Readable.from(["b\n", "a\n"]) });
assert.equal(sorted.stdout, "a\nb\n");

const received: Buffer[] = [];
const destination = new Writable({
  write(chunk: Buffer, _encoding, done) {
    received.push(chunk);
    done();
  },
});
await using list = await host.start(["printf", "%s", "to a Node stream"]);
await list.pipe(destination);
assert.equal(Buffer.concat(received).toString(), "to a Node stream");

await using upper = await host.start(["tr", "a-z", "A-Z"], { stdin: "pipe" });
await upper.writeFrom(["from an iterable"]);
assert.equal(await text(upper.stdout), "FROM AN ITERABLE");

// A script. Values are arguments of the shell, never code.
const name = "it's a $(file)";
const { stdout } = await host.sh`printf '%s|' ${name} "<${name}>" ${["two", "words"]}`;
assert.equal(stdout, `${name}|<${name}>|two|words|`);

// A variable that is undefined is not inherited.
const environment = await host.run(["env"], { env: { HOME: undefined, GREETING: "hello" } });
assert.match(environment.stdout, /^GREETING=hello$/m);
assert.doesNotMatch(environment.stdout, /^HOME=/m);

// The number of the process on its machine.
await using sleeper = await host.start(["sleep", "60"]);
assert.ok(sleeper.pid !== undefined && sleeper.pid > 1);

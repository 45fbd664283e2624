// Reads, writes, lists and removes files.
import assert from "node:assert/strict";
import { connectLocal } from "exec-server";

await using host = await connectLocal();
const directory = (await host.run(["mktemp", "-d"], { check: true })).stdout.trim();

await host.files.write(`${directory}/settings.json`, JSON.stringify({ port: 80 }));
const settings = JSON.parse(await host.files.readText(`${directory}/settings.json`)) as { port: number };
await host.files.write(`${directory}/settings.json`, JSON.stringify({ ...settings, port: 8080 }));

const entries = await host.files.list(directory);
assert.deepEqual(
  entries.map(({ name, kind }) => `${kind} ${name}`),
  ["file settings.json"],
);
assert.equal(await host.files.readText(`${directory}/settings.json`), '{"port":8080}');

await host.files.remove(directory, { recursive: true });
assert.equal(await host.files.exists(directory), false);

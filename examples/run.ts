// Runs commands and checks their output.
import assert from "node:assert/strict";
import { CommandError, connectLocal } from "exec-server";

await using host = await connectLocal();

const { stdout, exitCode } = await host.run(["uname", "-s"]);
assert.equal(stdout, "Linux\n");
assert.equal(exitCode, 0);

const sorted = await host.run(["sort", "-n"], { input: "10\n9\n2\n" });
assert.equal(sorted.stdout, "2\n9\n10\n");

const failure = await host.run(["ls", "/no/such/place"], { check: true }).catch((error: unknown) => error);
assert.ok(failure instanceof CommandError);
assert.notEqual(failure.result.exitCode, 0);

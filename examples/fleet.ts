// Two executors join a fleet, and a client picks one of them. Needs nats-server, as Debian's package of that name has it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { openFleet } from "exec-server";
import { serve } from "exec-server/server";

const nats = spawn("/usr/sbin/nats-server", ["--addr", "127.0.0.1", "--port", "-1"], {
  stdio: ["ignore", "ignore", "pipe"],
});
const servers = `nats://${await addressOf(nats.stderr)}`;

const token = randomBytes(32).toString("base64url");
const authentication = {
  mode: "capability-token",
  tokenSha256: createHash("sha256").update(token).digest(),
} as const;
const join = (id: string, zone: string) =>
  serve({ environment: process.env, authentication, fleet: { servers, id, labels: { zone } } });
const executors = await Promise.all([join("web-1", "eu"), join("web-2", "us")]);

{
  await using fleet = await openFleet({ servers }, { token });
  assert.deepEqual(
    fleet.list().map(({ id, state }) => [id, state]),
    [
      ["web-1", "ready"],
      ["web-2", "ready"],
    ],
  );
  const { id } = fleet.pick({ labels: { zone: "us" } });
  const host = await fleet.connect(id);
  assert.equal((await host.run(["echo", "hello"])).stdout, "hello\n");
  // Its machine is to be updated: nobody gives it new work, and what runs there goes on.
  await fleet.cordon(id);
  assert.equal(fleet.pick().id, "web-1");
}
await Promise.all(executors.map((executor) => executor.close()));
nats.kill();

/** NATS has chosen a free port, and logs it. */
async function addressOf(log: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: log })) {
    const [, address] = /Listening for client connections on (\S+)$/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error("nats-server did not start");
}

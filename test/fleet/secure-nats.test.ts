import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { openBus } from "../../src/fleet/open-bus.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { type Authority, createAuthority, type Issued } from "../fixtures/certificates.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const LIMITED = { token: TOKEN, connectTimeoutMs: 30_000 };

let authority: Authority;
let own: Issued;
let nkey: string;
let nats: NatsServer;
let server: ListeningServer;

const secure = (): { servers: string; ca: string; cert: string; key: string; nkey: string } => ({
  servers: `tls://127.0.0.1:${nats.port}`,
  ca: authority.ca,
  ...own,
  nkey,
});

beforeAll(async () => {
  authority = createAuthority();
  const theirs = authority.issue("nats");
  own = authority.issue("client");
  const pair = nkeys.createUser();
  nkey = join(authority.directory, "user.nk");
  writeFileSync(nkey, `# the seed of a user\n${Buffer.from(pair.getSeed()).toString()}\n`, { mode: 0o600 });
  nats = await startNats(`
    tls { cert_file: "${theirs.cert}", key_file: "${theirs.key}", ca_file: "${authority.ca}", verify: true }
    authorization { users = [ { nkey: ${pair.getPublicKey()} } ] }
  `);
  const tokenSha256 = createHash("sha256").update(TOKEN).digest();
  server = await serve({
    environment: process.env,
    authentication: { mode: "capability-token", tokenSha256 },
    fleet: { ...secure(), id: "a" },
  });
});
afterAll(async () => {
  await server.close();
  await nats[Symbol.asyncDispose]();
  authority[Symbol.dispose]();
});

test("a fleet is reached with TLS, a client certificate and an nkey, also after NATS has restarted", async () => {
  const host = await connect({ fleet: secure(), id: "a" }, { token: TOKEN });
  expect((await host.run(["echo", "one"])).stdout).toBe("one\n");
  await nats.kill();
  await nats.start();
  expect((await host.run(["echo", "two"])).stdout).toBe("two\n");
  await host.close();
});

test.each([
  ["another authority", { ca: "/etc/hostname" }, /failed to connect to NATS/],
  ["no connection with TLS", { servers: "plain" }, /`ca`, `cert` and `key` need servers with tls:/],
  [
    "a file that does not exist",
    { nkey: "/nonexistent/key" },
    /cannot read the nkey of the fleet in \/nonexistent\/key/,
  ],
  ["a file without a seed", { nkey: "/etc/hostname" }, /the file \/etc\/hostname holds no seed of an nkey/],
])("with %s, connecting fails with a reason", async (_, change: Record<string, string>, reason) => {
  const servers = change["servers"] === "plain" ? { servers: nats.url } : {};
  const fleet = { ...secure(), ...change, servers: secure().servers, ...servers };
  await expect(connect({ fleet, id: "a" }, LIMITED)).rejects.toThrow(reason);
});

test.each([
  ["IP:127.0.0.1", undefined],
  ["DNS:localhost", /does not match certificate's altnames: .*IP: 127\.0\.0\.1 is not in the cert's list/],
  ["IP:127.0.0.9", /does not match certificate's altnames/],
])(
  "a server of NATS that is reached by its address has to show it in its certificate: %s",
  async (names, fault) => {
    const { cert, key } = authority.issue(`names-${names.replaceAll(/\W/g, "-")}`, { names });
    await using other = await startNats(`tls { cert_file: "${cert}", key_file: "${key}" }`);
    const opening = openBus(
      { servers: `tls://127.0.0.1:${other.port}`, ca: authority.ca },
      { timeoutMs: 30_000 },
    );
    if (fault === undefined) await (await opening).close();
    else await expect(opening).rejects.toThrow(fault);
  },
);

test("credentials that cannot be read are named", async () => {
  const { nkey: _nkey, ...rest } = secure();
  const fleet = { ...rest, credentials: "/nonexistent/creds" };
  await expect(connect({ fleet, id: "a" }, LIMITED)).rejects.toThrow(
    /cannot read the credentials of the fleet in \/nonexistent\/creds/,
  );
});

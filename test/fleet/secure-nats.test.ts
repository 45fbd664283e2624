import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
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
  [
    "no authority",
    { ca: "/etc/hostname" },
    /the ca of the fleet in \/etc\/hostname is not a certificate in PEM format/,
  ],
  [
    "no certificate",
    { cert: "/etc/hostname" },
    /the cert of the fleet in \/etc\/hostname is not a certificate/,
  ],
  [
    "no key",
    { key: "/etc/hostname" },
    /the key of the fleet in \/etc\/hostname is not a private key in PEM format/,
  ],
  ["no connection with TLS", { servers: "plain" }, /`ca`, `cert` and `key` need servers with tls:/],
  [
    "a file that does not exist",
    { nkey: "/nonexistent/key" },
    /cannot read the nkey of the fleet in \/nonexistent\/key/,
  ],
  [
    "a file without a seed",
    { nkey: "/etc/hostname" },
    /the file \/etc\/hostname does not contain an nkey seed/,
  ],
])("with %s, connecting fails with a reason", async (_, change: Record<string, string>, reason) => {
  const servers = change["servers"] === "plain" ? { servers: nats.url } : {};
  const fleet = { ...secure(), ...change, servers: secure().servers, ...servers };
  await expect(connect({ fleet, id: "a" }, LIMITED)).rejects.toThrow(reason);
});

test("a key of another certificate is named before anything is connected to", async () => {
  const { key } = authority.issue("other");
  await expect(connect({ fleet: { ...secure(), key }, id: "a" }, LIMITED)).rejects.toThrow(
    `the fleet's key in ${key} does not match its certificate in ${own.cert}`,
  );
});

test("what is wrong with the certificate of NATS is said with a remedy", async () => {
  const open = async (cert: Issued, ca: string): Promise<unknown> => {
    await using other = await startNats(`tls { cert_file: "${cert.cert}", key_file: "${cert.key}" }`);
    const address = { servers: `tls://127.0.0.1:${other.port}`, ca };
    return await openBus(address, { timeoutMs: 30_000 }).catch((error: Error) => error.message);
  };
  expect(await open(authority.issue("late", { days: -1 }), authority.ca)).toBe(
    "failed to connect to NATS: the server's certificate has expired (CERT_HAS_EXPIRED); renew it on the server",
  );
  using stranger = createAuthority();
  expect(await open(authority.issue("right"), stranger.ca)).toBe(
    "failed to connect to NATS: the server's certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE); if it is genuine, pass its authority with `ca`, and connect with tls://",
  );
});

test("what is no NATS server, or none with TLS, is said with a remedy", async () => {
  await using plain = await startNats();
  const fault = (servers: string): Promise<unknown> =>
    openBus({ servers }, { timeoutMs: 30_000 }).catch((error: Error) => error.message);
  expect(await fault(plain.url.replace("nats:", "tls:"))).toBe(
    "failed to connect to NATS: the server does not speak TLS; connect with nats:// only if it is meant to run without TLS",
  );
  const mail = createServer((socket) => void socket.on("error", () => {}).end("220 mail ready\r\n"));
  await once(mail.listen(0, "127.0.0.1"), "listening");
  const { port } = mail.address() as AddressInfo;
  expect(await fault(`nats://127.0.0.1:${port}`)).toBe(
    "failed to connect to NATS: the server there is not a NATS server (it sends no NATS greeting); check the address and the port",
  );
  mail.close();
});

test("a server that rejects clients without a certificate is given up with a remedy", async () => {
  const { servers, ca } = secure();
  await expect(openBus({ servers, ca }, { timeoutMs: 2_000 })).rejects.toThrow(
    "failed to connect to NATS: it did not accept the login in time; check the address, and `cert` and `key` if it requires a certificate",
  );
});

test.each([
  ["IP:127.0.0.1", undefined],
  [
    "DNS:localhost",
    /is for another name \(.*IP: 127\.0\.0\.1 is not in the cert's list.*\); connect by a name in the certificate/,
  ],
  ["IP:127.0.0.9", /does not match certificate's altnames/],
])(
  "a NATS server that is reached by its address has to show it in its certificate: %s",
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

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PeerCertificate } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAuthority, type Authority, type Issued } from "../../test/fixtures/certificates.ts";
import { openIn } from "../../test/fixtures/temporary-directory.ts";
import { UsageError } from "../base/errors.ts";
import { inboxOf, natsOptions, readLoginFile } from "./address.ts";
import type { FleetAddress } from "./fleet-address.ts";

const SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
const PLAIN = "nats://127.0.0.1:4222";
const SECURE = "tls://127.0.0.1:4222";

let folder = "";
let authority: Authority;
let own: Issued;
let other: Issued;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "fleet-address-"));
  authority = createAuthority();
  own = authority.issue("own");
  other = authority.issue("other");
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  authority[Symbol.dispose]();
});

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test("one server, or several, are used as they are", () => {
  expect(natsOptions({ servers: PLAIN })).toEqual({ servers: [PLAIN] });
  expect(natsOptions({ servers: [PLAIN, "nats://[::1]:4222/"] })).toEqual({
    servers: [PLAIN, "nats://[::1]:4222/"],
  });
});

test("a user enters with a password", () => {
  expect(natsOptions({ servers: PLAIN, user: "anna", password: "" })).toEqual({
    servers: [PLAIN],
    user: "anna",
    pass: "",
  });
});

test("an nkey is found among comments, and signs what the server says", () => {
  const nkey = file("nkey", `# of web-1\n${SEED} created today\n`);
  const { authenticator } = natsOptions({ servers: PLAIN, nkey });
  expect((authenticator as (nonce: string) => object)("nonce")).toMatchObject({
    nkey: expect.stringMatching(/^U/),
  });
});

test.each<[string, () => Partial<FleetAddress>, string]>([
  ["no server", () => ({ servers: [] }), "a fleet needs at least one NATS server"],
  ["a user in the address", () => ({ servers: "nats://anna:secret@host:4222" }), "URL contains a user"],
  ["another scheme", () => ({ servers: "ws://host:4222" }), "expected nats://HOST:PORT or tls://HOST:PORT"],
  ["a path", () => ({ servers: "nats://host:4222/path" }), "invalid fleet server"],
  ["a port that cannot be", () => ({ servers: "nats://host:99999999" }), "invalid fleet server"],
  ["a second server that is none", () => ({ servers: [PLAIN, "host"] }), 'invalid fleet server "host"'],
  [
    "two ways to enter",
    () => ({ nkey: "a", user: "b", password: "c" }),
    "one of `credentials`, `nkey` and `user`",
  ],
  ["a user without a password", () => ({ user: "anna" }), "needs both `user` and `password`"],
  ["a password without a user", () => ({ password: "x" }), "needs both `user` and `password`"],
  ["a certificate without a key", () => ({ servers: SECURE, cert: own.cert }), "needs both `cert` and `key`"],
  ["a key without a certificate", () => ({ servers: SECURE, key: own.key }), "needs both `cert` and `key`"],
  ["an authority without TLS", () => ({ ca: authority.ca }), "need servers with tls://"],
  ["a certificate without TLS", () => ({ cert: own.cert, key: own.key }), "need servers with tls://"],
  ["TLS for some servers", () => ({ servers: [SECURE, PLAIN] }), "either all servers of a fleet have tls://"],
  [
    "an authority that is none",
    () => ({ servers: SECURE, ca: file("ca", "?") }),
    "is not a certificate in PEM format",
  ],
  [
    "the key of another certificate",
    () => ({ servers: SECURE, cert: own.cert, key: other.key }),
    "does not match",
  ],
  [
    "a key that is none",
    () => ({ servers: SECURE, cert: own.cert, key: file("key", "?") }),
    "is not a private key in PEM format",
  ],
  ["a file without a seed", () => ({ nkey: file("empty", "nothing here") }), "does not contain an nkey seed"],
  [
    "credentials that are none",
    () => ({ credentials: file("creds", "?") }),
    "cannot log in to the fleet with the file",
  ],
  ["a file that is missing", () => ({ nkey: join(folder, "missing") }), "cannot read the nkey of the fleet"],
])("an address with %s is refused", (_, more, why) => {
  const address = { servers: PLAIN, ...more() };
  expect(() => natsOptions(address)).toThrow(UsageError);
  expect(() => natsOptions(address)).toThrow(why);
});

test("a password in an address is in no message", () => {
  expect(() => natsOptions({ servers: "nats://anna:secret@host:4222" })).not.toThrow(/secret/);
});

test("the files of TLS are given to the library", () => {
  const { tls } = natsOptions({ servers: SECURE, ca: authority.ca, cert: own.cert, key: own.key });
  expect(tls).toEqual({
    caFile: authority.ca,
    certFile: own.cert,
    keyFile: own.key,
    checkServerIdentity: expect.any(Function),
  });
  expect(natsOptions({ servers: SECURE }).tls).toEqual({ checkServerIdentity: expect.any(Function) });
});

test.each([
  ["an address that was given", [SECURE], "localhost", "IP Address:127.0.0.1", true],
  [
    "one of two addresses",
    ["tls://127.0.0.9:1", "tls://[::1]:1"],
    "localhost",
    "IP Address:0:0:0:0:0:0:0:1",
    true,
  ],
  ["another address", [SECURE], "localhost", "IP Address:127.0.0.2", false],
  ["localhost, which was not given", [SECURE], "localhost", "DNS:localhost", false],
  ["localhost, which was given", ["tls://localhost:1"], "localhost", "DNS:localhost", true],
  ["the name that was connected to", ["tls://nats.example:1"], "nats.example", "DNS:nats.example", true],
  ["another name", ["tls://nats.example:1"], "nats.example", "DNS:other.example", false],
  ["localhost, where only names were given", ["tls://nats.example:1"], "localhost", "DNS:localhost", true],
])("a certificate of %s is accepted: %s, %s, %s, %s", (_, servers, host, subjectaltname, isAccepted) => {
  const { checkServerIdentity } = natsOptions({ servers }).tls as unknown as {
    checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
  };
  const fault = checkServerIdentity(host, { subject: {}, subjectaltname } as PeerCertificate);
  expect(fault === undefined).toBe(isAccepted);
});

test("a client receives below its name, or a random one", () => {
  expect(inboxOf({ servers: PLAIN, inbox: "anna" })).toMatch(/^_INBOX\.anna\.[\w-]{12}$/);
  expect(inboxOf({ servers: PLAIN })).toMatch(/^_INBOX\.[\w-]{12}$/);
  expect(inboxOf({ servers: PLAIN })).not.toBe(inboxOf({ servers: PLAIN }));
  expect(() => inboxOf({ servers: PLAIN, inbox: "a.b" })).toThrow("`inbox` must have 1 to 64");
});

test("a file of up to a mebibyte is read, whole", () => {
  const path = file("long", "x".repeat(1024 * 1024));
  expect(readLoginFile("nkey", path).length).toBe(statSync(path).size);
  truncateSync(path, 1024 * 1024 + 1);
  expect(() => readLoginFile("nkey", path)).toThrow("it has more than 1048576 bytes");
});

test("a pipe without a writer is refused, and does not stop the program", () => {
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  expect(() => readLoginFile("nkey", path)).toThrow(
    `cannot read the nkey of the fleet in ${path}: it is not a regular`,
  );
});

test("an unreadable file is closed again", () => {
  for (let count = 0; count < 5; count += 1)
    expect(() => readLoginFile("nkey", folder)).toThrow("not a regular file");
  expect(openIn(folder)).toEqual([]);
});

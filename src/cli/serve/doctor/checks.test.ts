import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Authority, createAuthority, type Issued } from "../../../../test/fixtures/certificates.ts";
import { freePort } from "../../../../test/fixtures/free-port.ts";
import { parseListenUrl } from "../../../server/serve/listen-address.ts";
import { checkAddress } from "./check-address.ts";
import { checkCertificate } from "./check-certificate.ts";
import { checkClock } from "./check-clock.ts";
import { checkDescriptors } from "./check-descriptors.ts";
import { checkFile } from "./check-file.ts";
import { checkNats } from "./check-nats.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

let directory: string;
const servers = new Set<Server>();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "doctor-"));
});

afterEach(() => {
  for (const server of servers) server.close();
  servers.clear();
  rmSync(directory, { recursive: true });
});

async function listening(
  server: Server,
  on: { port: number; host: string } | { path: string },
): Promise<number> {
  servers.add(server.listen(on));
  await once(server, "listening");
  const address = server.address() as AddressInfo | string;
  return typeof address === "string" ? 0 : address.port;
}

const LOOPBACK = { port: 0, host: "127.0.0.1" };
const addressAt = (url: string) => checkAddress(parseListenUrl(url));

describe("the address", () => {
  test.each(["stdio", "none", "ws://127.0.0.1:0"])("of %s needs no check", async (url) => {
    expect(await addressAt(url)).toBeUndefined();
  });

  test("is free, or taken by a program that is named", async () => {
    const server = createServer();
    const port = await listening(server, { ...LOOPBACK, port: await freePort() });
    expect(await addressAt(`ws://127.0.0.1:${port}`)).toMatchObject({
      detail: expect.stringContaining(`process ${process.pid}`) as string,
    });
    server.close();
    await once(server, "close");
    expect(await addressAt(`wss://127.0.0.1:${port}`)).toEqual({
      name: "address",
      ok: true,
      detail: `wss://127.0.0.1:${port} is free`,
      remedies: [],
    });
  });

  test("must be this machine's", async () => {
    expect(await addressAt("ws://192.0.2.1:7070")).toMatchObject({
      ok: false,
      detail: "this machine does not have the address 192.0.2.1",
      remedies: [expect.stringContaining("0.0.0.0")],
    });
  });

  test("may be a Unix socket, of which nothing stays behind", async () => {
    const path = join(directory, "s");
    expect(await addressAt(`unix://${path}`)).toMatchObject({
      ok: true,
      detail: `a server can listen on ${path}`,
    });
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    await listening(createServer(), { path });
    expect(await addressAt(`unix://${path}`)).toMatchObject({
      ok: true,
      detail: `a server listens on ${path} already`,
    });
    chmodSync(directory, 0o777);
    expect(await addressAt(`unix://${join(directory, "t")}`)).toMatchObject({
      ok: false,
      detail: expect.stringContaining("can be written to by other users") as string,
    });
  });
});

describe("the certificate", () => {
  let authority: Authority;
  let issued: Issued;

  beforeAll(() => {
    authority = createAuthority();
    issued = authority.issue("server", { names: "DNS:build.example,IP:192.0.2.7", days: 90 });
  });
  afterAll(() => authority[Symbol.dispose]());

  const after = (days: number): number => Date.now() + days * DAY_MS;

  test("is valid for the hosts by which clients reach the server", () => {
    for (const hosts of [[], ["build.example"], ["192.0.2.7", "build.example"]])
      expect(checkCertificate(issued, hosts)).toMatchObject({
        ok: true,
        detail: expect.stringMatching(
          /^valid until \d{4}-\d\d-\d\d, for build\.example, 192\.0\.2\.7$/,
        ) as string,
      });
    expect(checkCertificate(issued, ["build.example", "other.example", "192.0.2.8"])).toMatchObject({
      ok: false,
      detail: "it is for build.example, 192.0.2.7, but clients reach this server as other.example, 192.0.2.8",
    });
  });

  test("expires, and is not valid while the clock is wrong", () => {
    expect(checkCertificate(issued, [], after(75)).ok).toBe(true);
    expect(checkCertificate(issued, [], after(80))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^it expires on \S+, in 9 days$/) as string,
      remedies: [expect.stringContaining("renew it")],
    });
    expect(checkCertificate(issued, [], after(91))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^it expired on /) as string,
    });
    expect(checkCertificate(issued, [], after(-2))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^it is not valid before \S+, and this machine's clock says /) as string,
      remedies: [expect.stringContaining("timedatectl")],
    });
  });

  test("can be read, and has its own key", () => {
    const other = authority.issue("other");
    expect(checkCertificate({ ...issued, key: other.key }, [])).toMatchObject({
      ok: false,
      detail: "the TLS key does not match the certificate",
    });
    expect(checkCertificate({ ...issued, cert: join(directory, "missing") }, [])).toMatchObject({
      ok: false,
      detail: expect.stringContaining("missing: No such file or directory") as string,
    });
  });
});

describe("a file", () => {
  const check = (mode: number, isSecret: boolean) => {
    const path = join(directory, "f");
    writeFileSync(path, "");
    chmodSync(path, mode);
    return checkFile({ what: "the file", path, isSecret });
  };

  test.each([
    [0o600, true, true],
    [0o640, true, true],
    [0o660, true, false],
    [0o644, true, false],
    [0o602, true, false],
    [0o644, false, true],
    [0o664, false, true],
    [0o666, false, false],
  ])("with mode %o, secret or not: %j, is safe: %j", (mode, isSecret, ok) => {
    expect(check(mode, isSecret).ok).toBe(ok);
  });

  test("that is open says to whom, and what to do", () => {
    expect(check(0o644, true)).toEqual({
      name: "file",
      ok: false,
      detail: `the file ${join(directory, "f")} is open to others (mode 644): they could read it`,
      remedies: [`chmod 600 ${join(directory, "f")}`],
    });
    expect(check(0o666, false)).toMatchObject({
      detail: expect.stringContaining("they could change it") as string,
      remedies: [`chmod o-w ${join(directory, "f")}`],
    });
  });

  test("must exist, and be one", () => {
    const path = join(directory, "missing");
    expect(checkFile({ what: "the file", path, isSecret: true })).toMatchObject({
      ok: false,
      detail: `the file ${path}: No such file or directory (os error 2)`,
    });
    expect(checkFile({ what: "the file", path: directory, isSecret: true }).ok).toBe(false);
  });
});

describe("the clock", () => {
  // It stands still, so that the time that an answer takes is no part of the difference.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** A server whose clock differs, or that sends no date. */
  async function answering(offsetMs: number | undefined): Promise<URL> {
    const server = createHttpServer((_, response) => {
      response.sendDate = false;
      if (offsetMs !== undefined) response.setHeader("date", new Date(Date.now() + offsetMs).toUTCString());
      response.writeHead(404).end();
    });
    return new URL(`ws://127.0.0.1:${await listening(server, LOOPBACK)}/path`);
  }

  test.each([0, 25_000, -25_000])("agrees with one that differs by %d ms", async (offsetMs) => {
    expect(await checkClock(await answering(offsetMs))).toMatchObject({ ok: true });
  });

  test.each([
    [-600_000, "ahead of"],
    [600_000, "behind"],
  ])("differs from one that differs by %d ms: it is %s", async (offsetMs, word) => {
    expect(await checkClock(await answering(offsetMs))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(new RegExp(`^it is (?:599|60[01]) s ${word} that of 127`)) as string,
    });
  });

  test("cannot be compared with a server that does not answer, or not with a date", async () => {
    expect(await checkClock(await answering(undefined))).toMatchObject({
      ok: false,
      detail: expect.stringContaining("has no date") as string,
    });
    const port = await listening(
      createServer((socket) => socket.destroy()),
      LOOPBACK,
    );
    expect(await checkClock(new URL(`http://127.0.0.1:${port}/`))).toMatchObject({
      ok: false,
      detail: expect.stringContaining("did not answer") as string,
    });
  });
});

test("thousands of descriptors are enough, hundreds are not", () => {
  expect(checkDescriptors(4_096).ok).toBe(true);
  expect(checkDescriptors(1_024)).toMatchObject({
    ok: false,
    remedies: [expect.stringContaining("LimitNOFILE")],
  });
});

test("a NATS server that is not there is named, with the reason", async () => {
  const port = await freePort();
  expect(await checkNats({ servers: `nats://127.0.0.1:${port}` })).toMatchObject({
    name: "nats",
    ok: false,
    detail: `nats://127.0.0.1:${port}: failed to connect to NATS: connection refused`,
  });
});

import { X509Certificate } from "node:crypto";
import { connect, createServer } from "node:tls";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { Authority } from "./authority.ts";

/** The certificate that a server shows who answers for a host, and whether a client believes it. */
async function shown(authority: Authority, host: string, { trusts = authority } = {}) {
  const server = createServer({ SNICallback: (_name, done) => done(null, authority.contextFor(host)) });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({
    port: (server.address() as AddressInfo).port,
    host: "127.0.0.1",
    // Addresses are not named in the handshake.
    servername: "asked.test",
    ca: trusts.certificate,
    checkServerIdentity: () => undefined,
  });
  try {
    await once(client, "secureConnect");
    return new X509Certificate(client.getPeerCertificate().raw);
  } finally {
    client.destroy();
    server.close();
  }
}

describe("an authority", () => {
  it("has a certificate of its own that may sign others", () => {
    const certificate = new X509Certificate(new Authority().certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(Date.parse(certificate.validTo) - Date.now()).toBeGreaterThan(365 * 86_400_000);
  });

  it.each([
    ["api.example.com", "DNS:api.example.com"],
    ["x".repeat(63), `DNS:${"x".repeat(63)}`],
    ["127.0.0.1", "IP Address:127.0.0.1"],
    ["::1", "IP Address:0:0:0:0:0:0:0:1"],
    ["2001:db8::a:1", "IP Address:2001:DB8:0:0:0:0:A:1"],
  ])("vouches for %s", async (host, name) => {
    const authority = new Authority();
    const certificate = await shown(authority, host);
    expect(certificate.subjectAltName).toBe(name);
    expect(certificate.ca).toBe(false);
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    expect(
      host.includes(":") || /\d$/.test(host) ? certificate.checkIP(host) : certificate.checkHost(host),
    ).toBe(host);
  });

  it("is believed by nobody else", async () => {
    await expect(shown(new Authority(), "a.test", { trusts: new Authority() })).rejects.toThrow(
      /certificate/,
    );
  });

  it("remembers hosts, but not all of them", () => {
    const authority = new Authority();
    const first = authority.contextFor("a.test");
    expect(authority.contextFor("a.test")).toBe(first);
    for (let count = 0; count < 1_000; count += 1) {
      authority.contextFor(`h${count}.test`);
      if (count === 200) expect(authority.contextFor("a.test")).toBe(first);
    }
    expect(authority.size).toBe(256);
    expect(authority.contextFor("a.test")).not.toBe(first);
  });

  it("renews certificates before they end", () => {
    let now = Date.now();
    const authority = new Authority({ now: () => now });
    const first = authority.contextFor("a.test");
    now += 14 * 86_400_000;
    expect(authority.contextFor("a.test")).toBe(first);
    now += 2 * 86_400_000;
    expect(authority.contextFor("a.test")).not.toBe(first);
  });
});

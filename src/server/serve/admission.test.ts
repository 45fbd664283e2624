import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { createServerFor } from "./server.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { admissionFor } from "./admission.ts";
import { type Authenticator, createAuthenticator } from "../access/authentication.ts";

const clientCertificate = { subject: "CN=ann", fingerprint256: "AA:BB", expiresAtMs: 5 };

it.each([
  ["alone", undefined, "cert:CN=ann"],
  ["besides a token", tokenHolder(), "token"],
])("a client certificate %s ends the connection when it expires", async (_, authenticator, principal) => {
  const server = createServerFor(new OwnListeners(), {});
  const admission = admissionFor(
    server,
    {},
    { authenticator, requiresCertificate: true, isLocal: () => false },
  );
  const answer = await admission.authenticate?.({
    authorization: "Bearer secret",
    from: "",
    clientCertificate,
  });
  expect(answer).toMatchObject({ credential: { principal, expiresAtMs: 5 } });
  await server.close();
});

it("without a token, processes in a sandbox and other users are kept out; with one, it decides alone", async () => {
  const server = createServerFor(new OwnListeners(), {});
  const admissionChecks = (options: Parameters<typeof admissionFor>[1], authenticator?: Authenticator) => {
    const admission = admissionFor(server, options, {
      authenticator,
      requiresCertificate: false,
      isLocal: () => true,
    });
    return ["authenticate", "exclude", "excludeUser"].filter((name) => name in admission);
  };
  expect(admissionChecks({})).toEqual(["exclude", "excludeUser"]);
  expect(admissionChecks({ allowLocalUsers: true })).toEqual(["exclude"]);
  expect(admissionChecks({}, tokenHolder())).toEqual(["authenticate"]);
  await server.close();
});

it("what the operator sets reaches the transport", async () => {
  const server = createServerFor(new OwnListeners(), {});
  const surroundings = { authenticator: undefined, requiresCertificate: false, isLocal: () => false };
  const limits = { maxMessageBytes: 5_000, maxPendingConnections: 7, handshakeTimeoutMs: 9 };
  const options = { limits, publicUrls: ["wss://exec.example.com"], allowOrigins: ["https://example.com"] };
  expect(admissionFor(server, options, surroundings)).toMatchObject({
    ...limits,
    publicHosts: ["exec.example.com"],
    allowedOrigins: ["https://example.com"],
  });
  expect(admissionFor(server, {}, surroundings)).not.toHaveProperty("maxMessageBytes");
  expect(() => admissionFor(server, { publicUrls: ["x"] }, surroundings)).toThrow("invalid public URL");
  expect(() => admissionFor(server, { allowOrigins: ["*"] }, surroundings)).toThrow("invalid origin");
  await server.close();
});

function tokenHolder(): Authenticator {
  const tokenSha256 = createHash("sha256").update("secret").digest();
  return createAuthenticator({ mode: "capability-token", tokenSha256 });
}

import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { createServerFor } from "../server.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { admissionFor } from "./admission.ts";
import { type Authenticator, createAuthenticator } from "./authentication.ts";

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

function tokenHolder(): Authenticator {
  const tokenSha256 = createHash("sha256").update("secret").digest();
  return createAuthenticator({ mode: "capability-token", tokenSha256 });
}

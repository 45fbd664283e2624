// A server on one path of an HTTP server, which serves everything else itself.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "exec-server";
import { attach } from "exec-server/server";

const token = randomBytes(32).toString("base64url");
const http = createServer((_request, response) => response.end("the rest of the program\n"));
await using _server = attach(http, {
  path: "/exec",
  authentication: {
    mode: "capability-token",
    tokenSha256: createHash("sha256").update(token).digest(),
  },
  environment: process.env,
});
http.listen(0, "127.0.0.1");
await once(http, "listening");
const { port } = http.address() as AddressInfo;

const host = await connect(`ws://127.0.0.1:${port}/exec`, { token });
assert.equal((await host.run(["echo", "hello"])).stdout, "hello\n");
await host.close();
assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "the rest of the program\n");
http.closeAllConnections();
http.close();

// A server in its own process that is reached both directly and over NATS. Prints its URL.
import { createHash } from "node:crypto";
import { serve } from "../../dist/lib/server/index.js";

const [servers, id, token] = process.argv.slice(2);
const server = await serve({
  environment: process.env,
  authentication: {
    mode: "capability-token",
    tokenSha256: createHash("sha256").update(token).digest(),
  },
  fleet: { servers, id },
});
console.log(server.url);
process.once("SIGTERM", () => void server.close().then(() => process.exit()));

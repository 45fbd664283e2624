// Makes HTTP requests from the host's machine with a `fetch` interface.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connectLocal } from "exec-server";

const web = createServer((request, response) => response.end(`hello from ${request.url}`)).listen(
  0,
  "127.0.0.1",
);
await once(web, "listening");
const { port } = web.address() as AddressInfo;

{
  await using host = await connectLocal();
  const response = await host.fetch(`http://127.0.0.1:${port}/there`, { headers: { accept: "text/plain" } });
  assert.equal(response.status, 200);
  assert.equal(await response.text(), "hello from /there");
}
web.close();

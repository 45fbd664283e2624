import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { createServer } from "../../src/server/index.ts";
import { response, withUpstream } from "../conformance/http-upstream.ts";

const guide = readFileSync(new URL("../../docs/guide/files-and-fetch.md", import.meta.url), "utf8");
const samples = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!);

type Sample = (host: object, check: typeof assert) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => Sample;

it("the samples of the guide to files and HTTP do what they say", async () => {
  expect(samples).toHaveLength(9);
  const directory = await mkdtemp(join(tmpdir(), "guide-"));
  const server = createServer();
  try {
    await using host = await connect(server);
    await withUpstream(
      ({ socket, body }) => void socket.write(response(201, [], body.toString())),
      async ({ port }) => {
        const source = samples
          .join("\n")
          .replaceAll("/tmp/demo", `${directory}/demo`)
          .replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`);
        await new AsyncFunction("host", "assert", source)(host, assert);
      },
    );
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
});

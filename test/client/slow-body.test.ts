import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { clientTargets } from "./client-targets.ts";

// A body that is read more slowly than it comes: far more of it than a client may queue, and than the real server queues,
// which takes up to 60 MiB.

const PIECE = Buffer.alloc(256 * 1024, "0123456789abcdef");
const PIECES = 512;
const BYTES = PIECE.length * PIECES;
/** Looks in a row at which nothing has moved. */
const STILL_LOOKS = 20;
const DEADLINE_MS = 60_000;

let sent = 0;
const upstream = http.createServer((_, response) => {
  sent = 0;
  const more = (): void => {
    while (sent < BYTES) {
      sent += PIECE.length;
      if (!response.write(PIECE)) {
        response.once("drain", more);
        return;
      }
    }
    response.end();
  };
  more();
});

beforeAll(() => once(upstream.listen(0, "127.0.0.1"), "listening"));
afterAll(() => upstream.close());

describe.each(clientTargets)("$name", ({ start }) => {
  test("makes the upstream server wait, and is complete in the end", {
    timeout: 2 * DEADLINE_MS,
  }, async () => {
    const target = await start();
    const host = await target.connect();
    try {
      const { port } = upstream.address() as AddressInfo;
      const response = await host.fetch(`http://127.0.0.1:${port}/`);
      const reader = response.body!.getReader();
      const hash = createHash("sha256");
      const first = await withDeadline(reader.read(), DEADLINE_MS, () => "the first piece");
      hash.update(first.value);
      // Without a reader, sooner or later nothing moves.
      let before = -1;
      let still = 0;
      await pollUntil(
        () => {
          still = sent === before ? still + 1 : 0;
          before = sent;
          return still >= STILL_LOOKS;
        },
        DEADLINE_MS,
        () => `the upstream server to wait; it has sent ${sent}`,
      );
      expect(sent).toBeLessThan(BYTES);
      // If the server can pause a single body, everything else continues.
      if (host.supports("http/flow")) {
        const { stdout } = await withDeadline(host.run(["echo", "here"]), DEADLINE_MS, () => "a command");
        expect(stdout).toBe("here\n");
      }
      for (;;) {
        const { done, value } = await withDeadline(reader.read(), DEADLINE_MS, () => "the next piece");
        if (done) break;
        hash.update(value);
      }
      const expected = createHash("sha256");
      for (let piece = 0; piece < PIECES; piece += 1) expected.update(PIECE);
      expect(hash.digest("hex")).toBe(expected.digest("hex"));
    } finally {
      await host.close();
      await target.stop();
    }
  });
});

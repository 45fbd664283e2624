import { expect } from "vitest";
import {
  type Answer,
  head,
  httpRequest,
  onUpstream,
  response,
  type UpstreamRequest,
} from "./http-upstream.ts";
import { verifies } from "./verifies.ts";

const STREAM = { streamResponse: true };
const CLOSE_TIMEOUT_MS = 15_000;

/** Waits until the connection that carried a request has ended. */
async function expectAborted(request: UpstreamRequest): Promise<void> {
  let closed = false;
  void request.closed.then(() => {
    closed = true;
  });
  await expect.poll(() => closed, { timeout: CLOSE_TIMEOUT_MS, interval: 5 }).toBe(true);
}

verifies(
  "http-stream:disconnect",
  onUpstream(
    ({ socket }) => void socket.write(`${head(10)}hello`),
    async ({ connection, send, upstream }) => {
      await send("/", STREAM);
      connection.drop();
      await expectAborted(await upstream.request(1));
    },
  ),
);

verifies(
  "http-request:disconnect",
  onUpstream(
    () => {},
    async ({ connection, send, upstream }) => {
      const lost = send("/").then(
        () => "answered",
        () => "lost",
      );
      const request = await upstream.request(1);
      connection.drop();
      await expectAborted(request);
      expect(await lost).toBe("lost");
    },
  ),
);

verifies(
  "http-request:concurrent",
  onUpstream(
    () => {},
    async ({ connection, send, upstream }) => {
      const first = send("/1", { requestId: "1" });
      const { socket } = await upstream.request(1);
      expect(await connection.request("environment/status")).toEqual({ status: "ready" });
      const second = send("/2", { requestId: "2", ...STREAM });
      (await upstream.request(2)).socket.write(response(202));
      expect(await second).toMatchObject({ status: 202 });
      socket.write(response(201));
      expect(await first).toMatchObject({ status: 201 });
    },
  ),
);

const OFFERED_BYTES = 512 * 1024 * 1024;
const MAX_TAKEN_BYTES = 256 * 1024 * 1024;
const STANDSTILL_MS = 1000;

verifies("http-stream:back-pressure", async (context) => {
  const piece = Buffer.alloc(1024 * 1024, "x");
  let offered = 0;
  let progressAt = Date.now();
  const flood: Answer = ({ socket }) => {
    socket.write(head(OFFERED_BYTES));
    const pump = () => {
      progressAt = Date.now();
      while (offered < OFFERED_BYTES && !socket.destroyed) {
        offered += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on("drain", pump);
    pump();
  };
  await onUpstream(flood, async ({ connection, upstream }) => {
    await httpRequest(connection, `${upstream.origin}/`, STREAM);
    connection.webSocket?.pause();
    await expect
      .poll(() => Date.now() - progressAt, { timeout: 20_000, interval: 50 })
      .toBeGreaterThan(STANDSTILL_MS);
    const taken = offered;
    expect(taken).toBeLessThan(MAX_TAKEN_BYTES);
    connection.webSocket?.resume();
    await expect.poll(() => offered, { timeout: 10_000, interval: 20 }).toBeGreaterThan(taken);
  })(context);
});

import { expect } from "vitest";
import { head, onUpstream } from "./http-upstream.ts";
import { expectError, verifies } from "./verifies.ts";

const STREAM = { streamResponse: true, requestId: "r" };

verifies(
  "http.cancel:body",
  onUpstream(
    ({ socket }) => void socket.write(`${head(10)}hello`),
    async ({ connection, send, upstream }) => {
      await send("/", STREAM);
      const { params: first } = await connection.next(({ method }) => method === "http/request/bodyDelta");
      expect(first).toMatchObject({ seq: 1, deltaBase64: "aGVsbG8=", done: false });
      expect(await connection.request("http/cancel", { requestId: "r" })).toEqual({});
      const { params: last } = await connection.next(({ method }) => method === "http/request/bodyDelta");
      expect(last).toEqual({ requestId: "r", seq: 2, deltaBase64: "", done: true, error: "cancelled" });
      await (await upstream.request(1)).closed;
      // The id is free again.
      expect(await connection.request("http/cancel", { requestId: "r" })).toEqual({});
      expect(await send("/", STREAM)).toMatchObject({ status: 200 });
    },
  ),
);

verifies(
  "http.cancel:head",
  onUpstream(
    () => {},
    async ({ connection, send, upstream }) => {
      const refused = expectError(send("/", STREAM), -32603, "http/request failed: cancelled");
      const request = await upstream.request(1);
      await connection.request("http/cancel", { requestId: "r" });
      await refused;
      await request.closed;
    },
  ),
);

verifies(
  "http.cancel:other",
  onUpstream(
    () => {},
    async ({ connection, send, upstream }) => {
      expect(await connection.request("http/cancel", { requestId: "nobody" })).toEqual({});
      const answer = send("/", { requestId: "r" });
      const { socket } = await upstream.request(1);
      expect(await connection.request("http/cancel", { requestId: "r" })).toEqual({});
      socket.end(`${head(4)}body`);
      expect(await answer).toMatchObject({ status: 200, bodyBase64: "Ym9keQ==" });
    },
  ),
);

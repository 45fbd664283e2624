import { abortable } from "../../src/base/deadlines.ts";
import type { Caller } from "../../src/client/calls/caller.ts";
import { HttpBodies } from "../../src/client/http/http-bodies.ts";
import type { MethodName, Params, Result } from "../../src/protocol/index.ts";
import { Connection } from "../../src/rpc/connection.ts";
import type { Transport } from "../../src/transport/transport.ts";

/** The least that facades need of a session: one connection, a handshake, no recovery. */
export interface WireCaller extends Caller {
  readonly bodies: HttpBodies;
  /** Methods in the order they were sent. */
  readonly sent: string[];
  close(): void;
}

export async function openWireCaller(transport: Transport): Promise<WireCaller> {
  const bodies = new HttpBodies();
  const sent: string[] = [];
  const connection = new Connection(transport, {
    request: ({ id }) => connection.fail(id, { code: -32601, message: "not served" }),
    notification: (method, params) => {
      if (method === "http/request/bodyDelta") bodies.receive(params);
    },
    malformed: (reason) => connection.destroy(reason),
    unsolicited: () => {},
    drain: () => {},
    closed: (reason) => bodies.failAll(reason ?? "the server left"),
  });
  connection.open();
  await connection.request("initialize", { clientName: "files-fetch-test" });
  connection.notify("initialized", {});
  return {
    bodies,
    sent,
    async request<M extends MethodName>(
      method: M,
      params: Params<M>,
      { signal }: { signal?: AbortSignal } = {},
    ) {
      signal?.throwIfAborted();
      sent.push(method);
      return (await abortable(connection.request(method, params), signal)) as Result<M>;
    },
    close: () => connection.destroy(),
  };
}

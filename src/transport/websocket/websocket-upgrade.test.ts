import type { Socket } from "node:net";
import { expect, it } from "vitest";
import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { askUnixHolder, refuseHolder } from "./websocket-upgrade.ts";

const ENDS = { remoteAddress: "127.0.0.1", remotePort: 1, localAddress: "127.0.0.1", localPort: 2 };

it("both ends of a connection decide about its holder", async () => {
  const asked: ConnectionEnds[] = [];
  const excludeUser = async (ends: ConnectionEnds): Promise<string> => {
    asked.push(ends);
    return "somebody else";
  };
  expect(await refuseHolder(ENDS as Socket, { excludeUser })).toEqual({
    cause: "user",
    status: 403,
    body: "somebody else",
  });
  expect(asked).toEqual([ENDS]);
});

it.each(["exclude", "excludeUser"])(
  "a connection that its peer has reset is refused where %s asks",
  async (which) => {
    const reset = { localAddress: "127.0.0.1", localPort: 2, remoteAddress: undefined } as Socket;
    const refusal = await refuseHolder(reset, { [which]: async () => undefined });
    expect(refusal).toMatchObject({ status: 403 });
  },
);

it("who has connected to a Unix socket is asked once, when it is accepted", async () => {
  const asked: number[] = [];
  const rules = {
    excludeUser: async () => "somebody else",
    excludeUnix: (descriptor: number) => {
      asked.push(descriptor);
      return descriptor === 7 ? "inside" : undefined;
    },
  };
  const accepted = { _handle: { fd: 7 } } as unknown as Socket;
  expect(askUnixHolder(accepted, rules)).toEqual({ reason: "inside" });
  const refusal = { cause: "sandbox", status: 403, body: "inside" };
  expect(await refuseHolder(accepted, rules)).toEqual(refusal);
  expect(asked).toEqual([7]);
  expect(refuseHolder({ _handle: { fd: 8 } } as unknown as Socket, rules)).toBeUndefined();
  expect(refuseHolder({} as Socket, rules)).toBeUndefined();
  expect(asked).toEqual([7, 8, -1]);
});

import type { Socket } from "node:net";
import { expect, it } from "vitest";
import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { refuseHolder } from "./websocket-upgrade.ts";

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

it("nobody asks about the other end of a Unix socket", () => {
  expect(refuseHolder({} as Socket, { excludeUser: async () => "somebody else" })).toBeUndefined();
});

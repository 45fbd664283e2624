import { expect, it } from "vitest";
import { refuseOtherUser } from "./local-users.ts";
import { RefusalLog } from "./refusal-log.ts";

it("connections of other users leave few lines in the log, however many there are", () => {
  const lines: unknown[] = [];
  const warn = (message: string, fields?: object): void => void lines.push({ message, ...fields });
  const log = new RefusalLog({ debug: () => {}, info: () => {}, error: () => {}, warn });
  // No process holds this connection.
  const ends = { remoteAddress: "127.0.0.1", remotePort: 1, localAddress: "127.0.0.1", localPort: 2 };
  for (let count = 0; count < 100; count += 1)
    expect(refuseOtherUser(ends, log)).toContain("cannot be identified");
  expect(lines).toHaveLength(10);
  expect(lines[0]).toEqual({
    message: "a connection of another local user was refused",
    from: "127.0.0.1:1",
    user: "unknown",
  });
});

import { fstatSync, openSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { UserChannel } from "./user-channel.ts";

it("a connection for a program that is gone is closed, and is no fault of what it sent", async () => {
  const failed = vi.fn();
  const channel = new UserChannel({ message: vi.fn(), failed });
  // Nothing keeps the other ends.
  channel.start(() => {});
  const fds = [openSync("/dev/null", "r"), openSync("/dev/null", "r")];
  for (const fd of fds) channel.sendSocket({ kind: "ping" }, fd);
  for (const fd of fds) expect(() => fstatSync(fd)).toThrow("EBADF");
  await channel.ended;
  expect(failed).not.toHaveBeenCalled();
});

import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { isOwnUsers, ownerOf } from "../../capabilities/host/connection-owner.ts";
import type { RefusalLog } from "./refusal-log.ts";

/**
 * Why a connection over loopback is refused: its other end belongs to another user of this machine, or to a user who
 * cannot be identified.
 */
export function refuseOtherUser(
  ends: ConnectionEnds,
  log: RefusalLog,
  remedy = "set --ws-auth, or start it with --allow-local-users",
): string | undefined {
  if (isOwnUsers(ends)) return undefined;
  const owner = ownerOf(ends);
  log.warn("a connection of another local user was refused", {
    from: `${ends.remoteAddress}:${ends.remotePort}`,
    user: owner ?? "unknown",
  });
  return owner === undefined
    ? `the connecting user cannot be identified, and only the server's own user may connect: ${remedy}`
    : `only the user who runs this server may connect: ${remedy}`;
}

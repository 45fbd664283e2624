import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { isOwnUsers, ownerOf } from "../../capabilities/host/connection-owner.ts";
import type { LoginLog } from "./refused-logins.ts";

/**
 * Why a connection over loopback is refused: its other end belongs to another user of this machine, or to nobody who can
 * be found.
 */
export function refuseOtherUser(ends: ConnectionEnds, log: LoginLog): string | undefined {
  if (isOwnUsers(ends)) return undefined;
  const owner = ownerOf(ends);
  log.warn("a connection of another local user was refused", {
    from: `${ends.remoteAddress}:${ends.remotePort}`,
    user: owner ?? "unknown",
  });
  return owner === undefined
    ? "the user who connects cannot be found on this machine, and only the server's own user may: set --ws-auth, or start it with --allow-local-users"
    : "only the user who runs this server may connect: set --ws-auth, or start it with --allow-local-users";
}

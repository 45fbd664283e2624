import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { ownerOf } from "../../capabilities/host/connection-owner.ts";
import type { LoginLog } from "./refused-logins.ts";

/**
 * Why a connection over loopback is refused: its other end belongs to another user of this machine, or to nobody who can
 * be found. Root is not refused, because it could do everything anyway.
 */
export function refuseOtherUser(ends: ConnectionEnds, log: LoginLog): string | undefined {
  const owner = ownerOf(ends);
  if (owner !== undefined && (owner === process.geteuid?.() || owner === 0)) return undefined;
  log.warn("a connection of another local user was refused", {
    from: `${ends.remoteAddress}:${ends.remotePort}`,
    user: owner ?? "unknown",
  });
  return owner === undefined
    ? "the user who connects cannot be found on this machine, and only the server's own user may: set --ws-auth, or start it with --allow-local-users"
    : "only the user who runs this server may connect: set --ws-auth, or start it with --allow-local-users";
}

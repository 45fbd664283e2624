import { UsageError } from "../../base/errors.ts";
import { findAccount, type NumberedAccount } from "../../native/account.ts";
import { canSwitchUser } from "../../native/user-switch.ts";

/** The user as whom a client's requests are carried out. */
export interface RunAs {
  readonly account: NumberedAccount;
  /** Whether it is the user that runs the server anyway. */
  readonly isOwn: boolean;
}

/**
 * Finds a user by name or number. Throws a UsageError if the system does not list it, or if this server cannot run
 * anything as that user.
 */
export function resolveRunAs(user: string): RunAs {
  const account = findAccount(user);
  if (account === undefined) throw new UsageError(`there is no user ${JSON.stringify(user)} on this machine`);
  if (account.uid === process.geteuid?.()) return { account, isOwn: true };
  if (!canSwitchUser())
    throw new UsageError(
      `this server cannot run anything as the user ${account.name}: ` +
        "start it as root, with the capabilities CAP_SETUID and CAP_SETGID",
    );
  return { account, isOwn: false };
}

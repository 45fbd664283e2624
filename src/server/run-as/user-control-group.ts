import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ControlGroups } from "../../capabilities/process/ending/control-groups.ts";
import type { NumberedAccount } from "../../native/account.ts";
import type { ControlGroup } from "../../native/control-group.ts";

const FIRST_CHECK_MS = 5;
const LAST_CHECK_MS = 640;

/**
 * Creates the control group of everything that a user's server runs. In it the user can contain processes. Undefined if
 * the system does not have such groups, or does not allow it.
 *
 * The result kills everything left in it, whichever user it belongs to by then. It resolves when the group is gone, or
 * cannot be removed yet.
 */
export function createUserControlGroup(
  pid: number,
  account: NumberedAccount,
  { groups, logger }: { groups: ControlGroups; logger: Logger },
): (() => Promise<void>) | undefined {
  let group: ControlGroup | undefined;
  try {
    group = groups.create();
    group.delegate(pid, account);
  } catch (error) {
    if (group !== undefined) groups.release(group);
    logger.info("a user cannot contain processes", { user: account.name, reason: messageOf(error) });
    return undefined;
  }
  const created = group;
  return async () => {
    groups.kill(created);
    for (let waitMs = FIRST_CHECK_MS; groups.has(created) && waitMs <= LAST_CHECK_MS; waitMs *= 2)
      await delay(waitMs);
  };
}

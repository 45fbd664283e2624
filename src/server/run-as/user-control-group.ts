import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ControlGroups } from "../../capabilities/process/ending/control-groups.ts";
import type { NumberedAccount } from "../../native/account.ts";
import type { ControlGroup } from "../../native/control-group.ts";

const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 640;

/** The control group of everything that the server of a user runs. In it the user can contain processes. */
export class UserControlGroup {
  readonly #group: ControlGroup;
  readonly #groups: ControlGroups;

  private constructor(group: ControlGroup, groups: ControlGroups) {
    this.#group = group;
    this.#groups = groups;
  }

  /** Undefined if the system has no such groups, or does not allow it. */
  static create(
    pid: number,
    account: NumberedAccount,
    { groups, logger }: { groups: ControlGroups; logger: Logger },
  ): UserControlGroup | undefined {
    let group: ControlGroup | undefined;
    try {
      group = groups.create();
      group.delegate(pid, account);
      return new UserControlGroup(group, groups);
    } catch (error) {
      if (group !== undefined) groups.release(group);
      logger.info("a user cannot contain processes", { user: account.name, reason: messageOf(error) });
      return undefined;
    }
  }

  /** Kills whatever is left of it, whoever that belongs to by now. Resolves when it is gone, or cannot be removed yet. */
  async end(): Promise<void> {
    this.#groups.kill(this.#group);
    for (let waitMs = FIRST_LOOK_MS; this.#groups.has(this.#group) && waitMs <= LAST_LOOK_MS; waitMs *= 2)
      await delay(waitMs);
  }
}

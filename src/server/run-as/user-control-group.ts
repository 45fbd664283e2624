import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import {
  findOwnControlGroup,
  homeGroup,
  listAbandonedHomes,
} from "../../capabilities/process/ending/control-group-home.ts";
import type { NumberedAccount } from "../../native/account.ts";
import type { ControlGroup } from "../../native/control-group.ts";

const FIRST_TRY_MS = 5;
const LAST_TRY_MS = 640;

/** The control group of everything that the server of a user runs. In it the user can contain processes. */
export class UserControlGroup {
  readonly #group: ControlGroup;

  private constructor(group: ControlGroup) {
    this.#group = group;
  }

  /** Undefined if the system has no such groups, or does not allow it. */
  static create(pid: number, account: NumberedAccount, logger: Logger): UserControlGroup | undefined {
    let group: ControlGroup | undefined;
    try {
      const own = findOwnControlGroup();
      for (const abandoned of listAbandonedHomes(own)) clear(abandoned);
      group = homeGroup(own, pid);
      group.delegate(pid, account);
      return new UserControlGroup(group);
    } catch (error) {
      group?.removeAlone();
      logger.info("a user cannot contain processes", { user: account.name, reason: messageOf(error) });
      return undefined;
    }
  }

  /** Kills whatever is left of it, whoever that belongs to by now. Resolves when it is gone, or cannot be removed. */
  async end(): Promise<void> {
    clear(this.#group);
    for (let waitMs = FIRST_TRY_MS; !this.#group.remove() && waitMs <= LAST_TRY_MS; waitMs *= 2)
      await delay(waitMs);
  }
}

/** What cannot be killed or removed yet is left for the next server, if need be. */
function clear(group: ControlGroup): void {
  try {
    group.kill();
    group.remove();
  } catch {
    // It belongs to somebody else.
  }
}

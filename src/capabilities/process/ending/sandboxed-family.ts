import { constants } from "node:os";
import { libc } from "../../../native/libc.ts";
import { listChildren, type ProcessStat, readStat, signalProcess } from "../../../native/process-stat.ts";
import { unlessOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { takeSteps } from "../slices.ts";
import { findDescendants } from "./descendants.ts";
import type { ProcessFamily } from "./process-family.ts";

/** How often to check whether the program inside has started. It takes about 10 ms. */
const LOOK_MS = 2;

/**
 * The family of a process in a sandbox. The process that the server started, and the first one of the namespace, only
 * keep watch: if they end, everything inside ends. So signals go to the program inside, and kills to the watchers.
 */
export function sandboxedFamily(pid: number, watchers: ProcessFamily): ProcessFamily {
  let isReaped = false;
  /**
   * Acts on the program, which leads a group, and the first process of its namespace. Until the program has started,
   * there is only bubblewrap, and a signal would end it before it starts anything.
   */
  const whenBegun = (act: (program: number, first: number) => void): void => {
    if (isReaped) return;
    const begun = unlessOutOfDescriptors(() => {
      const first = listChildren(pid)[0];
      const program = first === undefined ? undefined : listChildren(first)[0];
      const leads = program !== undefined && readStat(program)?.group === program;
      return leads && first !== undefined ? { first, program } : undefined;
    });
    if (begun === undefined) setTimeout(() => whenBegun(act), LOOK_MS).unref();
    else act(begun.program, begun.first);
  };
  const terminate = (program: number, first: number): void => {
    const members = new Map<number, ProcessStat>();
    takeSteps(findDescendants(first, members, { stop: false }), () => {
      if (isReaped) return;
      // A process that is stopped acts on SIGTERM only when it continues.
      for (const signal of [constants.signals.SIGTERM, constants.signals.SIGCONT]) {
        for (const member of members.values()) unlessOutOfDescriptors(() => signalProcess(member, signal));
        // Without a free descriptor, the members cannot be found.
        if (members.size === 0) libc().kill(-program, signal);
      }
    });
  };
  return {
    contained: watchers.contained,
    get gone() {
      return watchers.gone;
    },
    signal: (signal) => whenBegun((program) => libc().kill(-program, constants.signals[signal])),
    terminate: () => whenBegun(terminate),
    killGroup: () => watchers.killGroup(),
    kill: (outputs) => watchers.kill(outputs),
    members: (machine) => watchers.members(machine),
    usage: (machine) => watchers.usage(machine),
    leaderReaped: () => {
      isReaped = true;
      watchers.leaderReaped();
    },
  };
}

import type { ControlGroup } from "../../../native/control-group.ts";
import type { ControlGroups } from "./control-groups.ts";
import type { ProcessFamily } from "./process-family.ts";
import type { ProcessGroup } from "./process-groups.ts";

/** A family that the kernel keeps together, whatever its members do. */
export function containedFamily(
  group: ProcessGroup,
  controlGroup: ControlGroup,
  controlGroups: ControlGroups,
): ProcessFamily {
  const isGone = (): boolean => !controlGroups.has(controlGroup);
  const kill = (): void => {
    if (isGone()) return;
    // The process may not have joined yet.
    group.signal("SIGKILL");
    controlGroups.kill(controlGroup);
  };
  return {
    contained: true,
    get gone() {
      return isGone();
    },
    signal: (signal) => group.signal(signal),
    terminate: () => controlGroups.ask(controlGroup),
    killGroup: kill,
    kill,
    members: () => controlGroup.pids(),
    usage: (machine) => {
      const usage = machine.of(controlGroup.pids());
      // The kernel also counts members that have ended.
      return { ...usage, cpuMs: controlGroup.cpuMs() ?? usage.cpuMs };
    },
    leaderReaped: () => {
      group.leaderReaped();
      controlGroups.release(controlGroup);
    },
  };
}

import type { ControlGroup } from "../../../native/control-group.ts";
import type { ControlGroups } from "./control-groups.ts";
import type { ProcessFamily } from "./process-family.ts";
import type { ProcessGroup } from "./process-groups.ts";
import type { MachineUsage, Usage } from "../usage/machine-usage.ts";

/** A family that the kernel keeps together, whatever its members do. */
export class ContainedFamily implements ProcessFamily {
  readonly contained = true;
  readonly #group: ProcessGroup;
  readonly #controlGroup: ControlGroup;
  readonly #controlGroups: ControlGroups;

  constructor(group: ProcessGroup, controlGroup: ControlGroup, controlGroups: ControlGroups) {
    this.#group = group;
    this.#controlGroup = controlGroup;
    this.#controlGroups = controlGroups;
  }

  get gone(): boolean {
    return !this.#controlGroups.has(this.#controlGroup);
  }

  signal(signal: NodeJS.Signals): void {
    this.#group.signal(signal);
  }

  terminate(): void {
    this.#controlGroups.ask(this.#controlGroup);
  }

  killGroup(): void {
    this.kill();
  }

  kill(): void {
    if (this.gone) return;
    // The process may not have joined yet.
    this.#group.signal("SIGKILL");
    this.#controlGroups.kill(this.#controlGroup);
  }

  usage(machine: MachineUsage): Usage {
    const usage = machine.of(this.#controlGroup.pids());
    // The kernel also counts members that have ended.
    return { ...usage, cpuMs: this.#controlGroup.cpuMs() ?? usage.cpuMs };
  }

  leaderReaped(): void {
    this.#group.leaderReaped();
    this.#controlGroups.release(this.#controlGroup);
  }
}

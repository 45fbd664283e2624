import { constants } from "node:os";
import { unlessOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { findDescendants } from "./descendants.ts";
import { type OutputEnd, WatchedOutput } from "../output/output-holders.ts";
import type { ProcessFamily } from "./process-family.ts";
import type { ProcessGroup } from "./process-groups.ts";
import { type ProcessStat, readStat, signalProcess, ticksNow } from "../../../native/process-stat.ts";
import { resultOr } from "../../../native/result-or.ts";
import { inSlices, takeSteps } from "../slices.ts";
import type { ProcessSnapshot } from "../process-snapshot.ts";
import type { Sweeper, SweptFamily } from "./sweeper.ts";
import type { MachineUsage, Usage } from "../usage/machine-usage.ts";

const NO_MEMBERS = new Map<number, ProcessStat>();

/**
 * Recognizes members by what the kernel reports: their process group; their parents, while these live; the session,
 * which background jobs share; and the output they keep open. A process that has left all four cannot be distinguished
 * from an unrelated one and is left alone. Without a free descriptor, the group is still ended, and the sweep finds the
 * others later.
 */
export class TracedFamily implements ProcessFamily, SweptFamily {
  readonly contained = false;
  readonly pid: number;
  readonly #group: ProcessGroup;
  readonly #sweeper: Sweeper;
  /** Members outside the group; some may be gone by now. */
  #members = NO_MEMBERS;
  /** The process itself, as last seen under its own pid. */
  #leader: ProcessStat | undefined;
  #leaderSeenTicks = -1;
  #leaderReaped = false;
  #killing = false;

  constructor(pid: number, { group, sweeper }: { group: ProcessGroup; sweeper: Sweeper }) {
    this.pid = pid;
    this.#group = group;
    this.#sweeper = sweeper;
  }

  get gone(): boolean {
    return this.#group.gone && this.#members.size === 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#group.signal(signal);
  }

  killGroup(): void {
    this.#group.signal("SIGKILL");
  }

  terminate(outputs: readonly OutputEnd[]): void {
    this.#seeLeader();
    const watched = watch(outputs);
    const sweep = (): void => {
      // Killing also sweeps, and more thoroughly.
      if (this.#killing) for (const output of watched) output.close();
      else this.#sweeper.sweep(this, { outputs: watched, kill: false });
    };
    this.#findBelow({ stop: false }, (below) => {
      if (this.#killing) sweep();
      else if (below.some(({ group }) => group !== this.pid)) this.#askAtRest(sweep);
      else {
        this.#group.signal("SIGTERM");
        this.#group.signal("SIGCONT");
        sweep();
      }
    });
  }

  kill(outputs: readonly OutputEnd[]): void {
    this.#killing = true;
    this.#seeLeader();
    const watched = watch(outputs);
    // Stop the group before searching: the first to be killed would leave children without a parent to find them by.
    this.#group.signal("SIGSTOP");
    this.#findBelow({ stop: true }, (below) => {
      this.#add(below.filter(({ group }) => group !== this.pid));
      unlessOutOfDescriptors(() => {
        for (const member of this.#members.values()) this.#killMember(member);
      });
      this.#group.signal("SIGKILL");
      this.#sweeper.sweep(this, { outputs: watched, kill: true });
    });
  }

  members(machine: MachineUsage): ReadonlySet<number> {
    return machine.familyOf(this.pid);
  }

  usage(machine: MachineUsage): Usage {
    return machine.of(this.members(machine));
  }

  leaderReaped(): void {
    this.#leaderReaped = true;
    this.#group.leaderReaped();
  }

  terminateFound(snapshot: ProcessSnapshot, holders: readonly ProcessStat[]): void {
    this.#continue(this.#ask(this.#find(snapshot, holders)));
  }

  async killFound(snapshot: ProcessSnapshot, holders: readonly ProcessStat[]): Promise<boolean> {
    const members = this.#find(snapshot, holders);
    // All of these at once.
    this.#group.signal("SIGKILL");
    const outside = members.filter(({ group }) => group !== this.pid || this.#group.gone);
    await inSlices(outside, (member) => signalProcess(member, constants.signals.SIGSTOP));
    this.#add(outside);
    const below = new Map<number, ProcessStat>();
    for (const { pid } of outside) await inSlices(findDescendants(pid, below, { stop: true }), () => {});
    this.#add([...below.values()]);
    await inSlices(this.#members.values(), (member) => this.#killMember(member));
    return members.length > 0;
  }

  #findBelow({ stop }: { stop: boolean }, done: (below: readonly ProcessStat[]) => void): void {
    const below = new Map<number, ProcessStat>();
    if (this.#leaderReaped) done([]);
    else takeSteps(findDescendants(this.pid, below, { stop }), () => done([...below.values()]));
  }

  #seeLeader(): void {
    if (this.#leaderReaped) return;
    unlessOutOfDescriptors(() => {
      this.#leader = readStat(this.pid);
    });
    this.#leaderSeenTicks = ticksNow();
  }

  /**
   * A process that forks while others end would have children without a parent to find them by, so stop all of them for
   * a moment.
   */
  #askAtRest(done: () => void): void {
    this.#group.signal("SIGSTOP");
    this.#findBelow({ stop: true }, (below) => {
      if (!this.#killing) {
        // Everyone has the signal before the first can act on it.
        this.#group.signal("SIGTERM");
        unlessOutOfDescriptors(() => this.#ask(below));
        this.#continue(below);
        this.#group.signal("SIGCONT");
      }
      done();
    });
  }

  /** Returns the members that had not got SIGTERM before. */
  #ask(members: readonly ProcessStat[]): readonly ProcessStat[] {
    const asked = members.filter(({ group, pid }) => group !== this.pid && !this.#members.has(pid));
    for (const member of asked) {
      signalProcess(member, constants.signals.SIGTERM);
      this.#add([member]);
    }
    return asked;
  }

  /** A process that is stopped acts on SIGTERM only when it continues. */
  #continue(members: readonly ProcessStat[]): void {
    for (const member of members)
      unlessOutOfDescriptors(() => signalProcess(member, constants.signals.SIGCONT));
  }

  #add(members: readonly ProcessStat[]): void {
    if (members.length === 0) return;
    // Most families have no members outside the group.
    if (this.#members === NO_MEMBERS) this.#members = new Map();
    for (const member of members) this.#members.set(member.pid, member);
  }

  #killMember(member: ProcessStat): void {
    if (!signalProcess(member, constants.signals.SIGKILL)) this.#members.delete(member.pid);
  }

  #find(snapshot: ProcessSnapshot, holders: readonly ProcessStat[]): ProcessStat[] {
    const members = new Set(holders);
    for (const { pid, startTicks } of this.#members.values()) {
      const now = snapshot.get(pid);
      if (now?.startTicks === startTicks && now.alive) members.add(now);
    }
    const session = Array.from(snapshot.values()).filter(
      ({ session, alive }) => alive && session === this.pid,
    );
    if (this.#ownsSession(snapshot, session, members)) for (const member of session) members.add(member);
    return [...members];
  }

  /** The system reuses a session's number once its last member is gone. One certain member shows that it has not. */
  #ownsSession(
    snapshot: ProcessSnapshot,
    session: readonly ProcessStat[],
    members: ReadonlySet<ProcessStat>,
  ): boolean {
    const leader = snapshot.get(this.pid);
    if (leader !== undefined) return leader.startTicks === this.#leader?.startTicks;
    return session.some(
      (member) =>
        // A session is inherited at the start, and at that moment the number was the leader's.
        member.startTicks <= this.#leaderSeenTicks ||
        members.has(member) ||
        (member.group === this.pid && !this.#group.gone),
    );
  }
}

/** The family is ended even if an output cannot be watched. */
function watch(outputs: readonly OutputEnd[]): WatchedOutput[] {
  return outputs.flatMap((output) => resultOr([], () => [new WatchedOutput(output)]));
}

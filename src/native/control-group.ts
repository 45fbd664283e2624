import { chownSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { descriptorReserve } from "./descriptor-reserve.ts";
import { libc } from "./libc.ts";
import { isErrno } from "./os-error.ts";

/** The second is the error of a group that is being removed. */
const MISSING = ["ENOENT", "ENODEV"];

/** What a user can do in a group that was delegated to it. The owner walks all of it, and removes it in the end. */
const DELEGATED = { "cgroup.max.descendants": "10000", "cgroup.max.depth": "16" };

/** A kernel control group (cgroup v2). Every process stays in it with everything that it starts. */
export class ControlGroup {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  create(): void {
    mkdirSync(this.path, { recursive: true });
  }

  /** Moving a process can take milliseconds, because the kernel waits for all forks on the machine. */
  async add(pid: number): Promise<void> {
    await writeFile(`${this.path}/cgroup.procs`, String(pid));
  }

  /** Moves a process into it and gives it to a user, who can then create groups in it, but cannot leave it. */
  delegate(pid: number, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
    this.create();
    for (const [name, limit] of Object.entries(DELEGATED)) this.#write(name, limit);
    for (const name of ["", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"])
      chownSync(`${this.path}${name}`, uid, gid);
    writeFileSync(`${this.path}/cgroup.procs`, String(pid));
  }

  /** Members, including those in groups that members have created below this one. Empty if the group is gone. */
  pids(): number[] {
    return this.#ifExists([], () => [
      ...descriptorReserve
        .lend(() => readFileSync(`${this.path}/cgroup.procs`, "latin1"))
        .split("\n")
        .filter(Boolean)
        .map(Number),
      ...this.#below().flatMap((group) => group.pids()),
    ]);
  }

  /** CPU time of its members, including ended ones; undefined if the group is gone. */
  cpuMs(): number | undefined {
    const text = this.#ifExists("", () =>
      descriptorReserve.lend(() => readFileSync(`${this.path}/cpu.stat`, "latin1")),
    );
    const used = /^usage_usec (\d+)$/m.exec(text)?.[1];
    return used === undefined ? undefined : Number(used) / 1000;
  }

  signal(signal: NodeJS.Signals): void {
    for (const pid of this.pids()) libc().kill(pid, constants.signals[signal]);
  }

  kill(): void {
    try {
      this.#write("cgroup.kill", "1");
    } catch (error) {
      if (!isErrno(error, ...MISSING)) throw error;
      this.killFrozen();
    }
  }

  /** For kernels before 5.14. Frozen processes cannot escape by forking, and can be killed. */
  killFrozen(): void {
    this.#ifExists(undefined, () => this.#write("cgroup.freeze", "1"));
    this.signal("SIGKILL");
    this.#ifExists(undefined, () => this.#write("cgroup.freeze", "0"));
  }

  /**
   * Removes it together with the groups that members have created below it, as many as it can until `deadline`, by
   * `performance.now()`; false if that is not possible yet, usually because they have members.
   */
  remove(deadline: number): boolean {
    try {
      const isAlone = this.#below().every((group) => performance.now() < deadline && group.remove(deadline));
      return isAlone && this.removeAlone();
    } catch (error) {
      return isErrno(error, ...MISSING);
    }
  }

  /** False while it has members or subgroups. */
  removeAlone(): boolean {
    try {
      rmdirSync(this.path);
      return true;
    } catch (error) {
      return isErrno(error, ...MISSING);
    }
  }

  #below(): ControlGroup[] {
    return descriptorReserve
      .lend(() => readdirSync(this.path, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => new ControlGroup(`${this.path}/${name}`));
  }

  #write(file: string, text: string): void {
    descriptorReserve.lend(() => writeFileSync(`${this.path}/${file}`, text, { flag: "r+" }));
  }

  /** Another clean-up may have been faster. */
  #ifExists<T>(otherwise: T, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (isErrno(error, ...MISSING)) return otherwise;
      throw error;
    }
  }
}

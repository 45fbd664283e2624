import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { descriptorReserve } from "./descriptor-reserve.ts";
import { libc } from "./libc.ts";
import { isErrno } from "./os-error.ts";

/** The second is what files of a group say that is being removed. */
const NOT_THERE = ["ENOENT", "ENODEV"];

/** A group of the kernel's (cgroup v2), which every process stays in with all that it starts. */
export class ControlGroup {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  create(): void {
    mkdirSync(this.path, { recursive: true });
  }

  /** Moving a process can take milliseconds, because the kernel lets all forks of the machine come to rest. */
  async add(pid: number): Promise<void> {
    await writeFile(`${this.path}/cgroup.procs`, String(pid));
  }

  /** Members, also those in groups that members have made below this one. Empty when the group is gone. */
  pids(): number[] {
    return this.#ifThere([], () => [
      ...descriptorReserve
        .lend(() => readFileSync(`${this.path}/cgroup.procs`, "latin1"))
        .split("\n")
        .filter(Boolean)
        .map(Number),
      ...this.#below().flatMap((group) => group.pids()),
    ]);
  }

  signal(signal: NodeJS.Signals): void {
    for (const pid of this.pids()) libc().kill(pid, constants.signals[signal]);
  }

  kill(): void {
    try {
      this.#tell("cgroup.kill", "1");
    } catch (error) {
      if (!isErrno(error, ...NOT_THERE)) throw error;
      this.killFrozen();
    }
  }

  /** For kernels before 5.14. What is frozen cannot fork away, and can be killed. */
  killFrozen(): void {
    this.#ifThere(undefined, () => this.#tell("cgroup.freeze", "1"));
    this.signal("SIGKILL");
    this.#ifThere(undefined, () => this.#tell("cgroup.freeze", "0"));
  }

  /** Removes it together with groups that members have made below it; false when that is not possible yet, above all while anyone is in them. */
  remove(): boolean {
    try {
      return this.#below().every((group) => group.remove()) && this.removeAlone();
    } catch (error) {
      return isErrno(error, ...NOT_THERE);
    }
  }

  /** False while anyone, or another group, is in it. */
  removeAlone(): boolean {
    try {
      rmdirSync(this.path);
      return true;
    } catch (error) {
      return isErrno(error, ...NOT_THERE);
    }
  }

  #below(): ControlGroup[] {
    return descriptorReserve
      .lend(() => readdirSync(this.path, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => new ControlGroup(`${this.path}/${name}`));
  }

  #tell(file: string, text: string): void {
    descriptorReserve.lend(() => writeFileSync(`${this.path}/${file}`, text, { flag: "r+" }));
  }

  /** Whoever else cleans up may be faster. */
  #ifThere<T>(otherwise: T, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (isErrno(error, ...NOT_THERE)) return otherwise;
      throw error;
    }
  }
}

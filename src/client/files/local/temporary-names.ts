import { createHash, randomUUID } from "node:crypto";
import { hostname } from "node:os";

const ANY = /^\.exec-server-copy-([0-9a-f]{8})-([1-9]\d{0,9})-/;

/** Names of files that are written and then renamed. They name the process that made them, in case it is killed. */
export class TemporaryNames {
  readonly #prefix = `.exec-server-copy-${machine()}-${process.pid}-${randomUUID()}-`;
  #last = 0;

  next(): string {
    this.#last += 1;
    return `${this.#prefix}${this.#last}`;
  }

  /** Whether a name was created by this program. */
  has(name: string): boolean {
    return name.startsWith(this.#prefix);
  }

  /** Whether a name was created by a process of this machine that has ended. */
  isAbandoned(name: string): boolean {
    const [, madeOn, pid] = ANY.exec(name) ?? [];
    return madeOn === machine() && !isRunning(Number(pid));
  }
}

/** Identifies the machine, as far as its name does. */
export function machine(): string {
  return createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process may belong to another user.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

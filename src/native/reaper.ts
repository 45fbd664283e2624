import { libc } from "./libc.ts";

/** How a child ended. */
export interface ExitStatus {
  /** Exit status, or 128 + n if signal n ended it. */
  readonly exitCode: number;
  /** Number of the signal that ended it. */
  readonly signal: number | undefined;
  readonly usage: ResourceUsage;
}

/** Resources used by a child and the children that it waited for. */
export interface ResourceUsage {
  readonly userMs: number;
  readonly systemMs: number;
  /** Peak of the largest one. The kernel includes what the child shared with the server before it ran its program. */
  readonly peakMemoryBytes: number;
}

const P_ALL = 0;
const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x0100_0000;
const KEEP_ALIVE_MS = 1_000;

// Fields of siginfo_t as 32-bit words, on 64-bit Linux.
const PID_WORD = 4;

/** 64-bit words of struct rusage. */
const USAGE_WORDS = 18;

/**
 * Detects the end of children that `spawn` started. Node does not know them; it only reports SIGCHLD, once for any
 * number of ends.
 */
export class Reaper {
  readonly #children = new Map<number, (status: ExitStatus) => void>();
  readonly #info = Buffer.alloc(128);
  readonly #words = new Int32Array(this.#info.buffer, this.#info.byteOffset, 32);
  readonly #status = new Int32Array(1);
  readonly #usage = new BigInt64Array(USAGE_WORDS);
  readonly #background = new Set<number>();
  #keepAlive: NodeJS.Timeout | undefined;
  #soon = false;
  /** The reapers of all servers in this program. One listener serves them: Node warns of a leak if there are many. */
  static readonly #listening = new Set<Reaper>();
  static readonly #onSignal = (): void => {
    for (const reaper of Reaper.#listening) reaper.#reap();
  };

  /**
   * Call it before starting a child: an end before anyone listens is never reported. It listens until the last child
   * has ended, so that a program can have any number of servers one after another.
   */
  listen(): void {
    if (Reaper.#listening.size === 0) process.on("SIGCHLD", Reaper.#onSignal);
    Reaper.#listening.add(this);
  }

  /** Never calls back synchronously, although the child may have ended before its pid was known. */
  watch(pid: number, onExit: (status: ExitStatus) => void): void {
    this.listen();
    this.#children.set(pid, onExit);
    // A signal listener does not keep the event loop alive; waiting for a child should.
    this.#keepAlive ??= setInterval(() => this.#reap(), KEEP_ALIVE_MS);
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#reap();
    });
  }

  /** Like `watch`, for a child whose end does not matter. */
  watchInBackground(pid: number, onExit: (status: ExitStatus) => void): void {
    this.listen();
    this.#background.add(pid);
    this.#children.set(pid, onExit);
  }

  #reap(): void {
    // Peeking at any ended child costs one call, however many are alive. A child that Node itself started blocks the
    // peeking: it stays in front until Node reaps it, so the rest are checked one by one.
    for (;;) {
      const pid = this.#peek();
      if (pid === 0) break;
      if (!this.#children.has(pid)) {
        for (const child of this.#children.keys()) this.#collect(child);
        break;
      }
      this.#collect(pid);
    }
  }

  #peek(): number {
    this.#words[PID_WORD] = 0;
    const result = libc().waitid(P_ALL, 0, this.#info, WEXITED | WNOHANG | WNOWAIT);
    return result === 0 ? (this.#words[PID_WORD] ?? 0) : 0;
  }

  #collect(pid: number): void {
    if (libc().wait4(pid, this.#status, WNOHANG, this.#usage) !== pid) return;
    const status = this.#status[0]!;
    const signal = status & 0x7f;
    const onExit = this.#children.get(pid);
    this.#children.delete(pid);
    this.#background.delete(pid);
    if (this.#children.size === this.#background.size) {
      clearInterval(this.#keepAlive);
      this.#keepAlive = undefined;
    }
    if (this.#children.size === 0) {
      Reaper.#listening.delete(this);
      if (Reaper.#listening.size === 0) process.off("SIGCHLD", Reaper.#onSignal);
    }
    onExit?.({
      exitCode: signal === 0 ? (status >> 8) & 0xff : 128 + signal,
      signal: signal === 0 ? undefined : signal,
      usage: this.#readUsage(),
    });
  }

  #readUsage(): ResourceUsage {
    // It begins with seconds and microseconds in user mode, then in the kernel, and the peak.
    const [userS = 0, userUs = 0, systemS = 0, systemUs = 0, peakKib = 0] = Array.from(this.#usage, Number);
    return {
      userMs: userS * 1000 + userUs / 1000,
      systemMs: systemS * 1000 + systemUs / 1000,
      peakMemoryBytes: peakKib * 1024,
    };
  }
}

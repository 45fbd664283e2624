import { libc } from "../libc.ts";

/** How a child ended. */
export interface ExitStatus {
  /** The exit status, or 128 + n when signal n ended it. */
  readonly exitCode: number;
  /** Number of the signal that ended it. */
  readonly signal: number | undefined;
}

const P_ALL = 0;
const P_PID = 1;
const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x0100_0000;
const CLD_EXITED = 1;
const KEEP_ALIVE_MS = 1_000;

// Fields of siginfo_t as 32-bit words, on 64-bit Linux.
const CODE_WORD = 2;
const PID_WORD = 4;
const STATUS_WORD = 6;

/**
 * Learns of the end of children that `spawn` started. Node does not know them; it tells of SIGCHLD only, once for any number of ends.
 */
export class Reaper {
  readonly #children = new Map<number, (status: ExitStatus) => void>();
  readonly #info = Buffer.alloc(128);
  readonly #words = new Int32Array(this.#info.buffer, this.#info.byteOffset, 32);
  readonly #background = new Set<number>();
  #keepAlive: NodeJS.Timeout | undefined;
  #soon = false;
  #listening = false;

  /** Must be called before a child is started: an end that comes before anyone listens is never told. */
  listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    process.on("SIGCHLD", () => this.#reap());
  }

  /** Never calls back at once, although the child may have ended before its number was known. */
  watch(pid: number, onExit: (status: ExitStatus) => void): void {
    this.#children.set(pid, onExit);
    // A signal keeps no event loop alive; waiting for a child should.
    this.#keepAlive ??= setInterval(() => this.#reap(), KEEP_ALIVE_MS);
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#reap();
    });
  }

  /** Like `watch`, for a child that nobody waits for. */
  watchInBackground(pid: number, onExit: (status: ExitStatus) => void): void {
    this.#background.add(pid);
    this.#children.set(pid, onExit);
  }

  #reap(): void {
    // Peeking at any ended child costs one call, however many live. A child that Node itself started ends the peeking: it stays
    // in front until Node reaps it, so the rest are asked one by one.
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
    return this.#wait(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT) ? this.#words[PID_WORD]! : 0;
  }

  #collect(pid: number): void {
    if (!this.#wait(P_PID, pid, WEXITED | WNOHANG)) return;
    const status = this.#words[STATUS_WORD]!;
    const exited = this.#words[CODE_WORD] === CLD_EXITED;
    const onExit = this.#children.get(pid);
    this.#children.delete(pid);
    this.#background.delete(pid);
    if (this.#children.size === this.#background.size) {
      clearInterval(this.#keepAlive);
      this.#keepAlive = undefined;
    }
    onExit?.({ exitCode: exited ? status : 128 + status, signal: exited ? undefined : status });
  }

  #wait(idType: number, id: number, options: number): boolean {
    this.#words[PID_WORD] = 0;
    return libc().waitid(idType, id, this.#info, options) === 0 && this.#words[PID_WORD] !== 0;
  }
}

import { readdirSync, readlinkSync } from "node:fs";
import { formatDuration } from "../../../../base/duration.ts";
import { type Logger, silentLogger } from "../../../../base/logger.ts";
import { listChildren } from "../../../../native/process-stat.ts";
import { Failure } from "../../../shared/failure.ts";
import { complain } from "../../print/complain.ts";

/** How long a program may be silent before it answers. */
const SILENCE_MS = 15_000;
/** Limit for a program that writes to stderr, or asks for a password. */
const LONGEST_MS = 120_000;
/** After this, a line says what the command is waiting for. */
const NOTICE_MS = 3_000;
const CHECK_MS = 250;
const TERMINAL = /^\/dev\/(?:tty|pts\/|console$)/;
/** Enough for ssh with the commands that it starts. */
const MAX_PROGRAMS = 64;

/** Passed to the work: its deadline, and the destination of the program's stderr. */
export interface Waiting {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** The program does what takes its time: all limits start again. */
  readonly progress: () => void;
}

/** A program that is waited for. */
interface Waited {
  /** The user's name for the host. */
  readonly name: string;
  readonly program: string;
  /** How long it may be silent, if the user has set that. */
  readonly silenceMs: number | undefined;
  /** What to do if it never says anything. */
  readonly remedy?: string;
}

/**
 * Waits for a program to answer. It is given up if it is silent for too long, but not while it asks for a password on
 * the terminal, or could do so in a window.
 */
export async function patiently<T>(
  { name, program, silenceMs = defaultSilence(), remedy = "" }: Waited,
  work: (waiting: Waiting) => Promise<T>,
  isAsking = asksOnTerminal,
): Promise<T> {
  const longestMs = Math.max(LONGEST_MS, silenceMs);
  const abort = new AbortController();
  let begun = performance.now();
  let lastSign = begun;
  let lastWords = "";
  let hasAnswered = false;
  let isNoticeDue = process.stderr.isTTY;
  const giveUp = (ms: number): void => {
    const reason = `no answer from ${program} within ${formatDuration(ms)}${lastWords}${hasAnswered ? "" : remedy}`;
    abort.abort(new Failure(`cannot reach '${name}': ${reason}`));
  };
  const check = (): void => {
    const now = performance.now();
    if (now - begun >= longestMs) giveUp(longestMs);
    else if (isAsking()) lastSign = now;
    else if (now - lastSign >= silenceMs) giveUp(silenceMs);
    else if (isNoticeDue && now - begun >= NOTICE_MS) {
      isNoticeDue = false;
      complain(`waiting for '${name}'; Ctrl-C gives up${lastWords}`);
    }
  };
  const warn = (line: string): void => {
    lastSign = performance.now();
    if (line.trim() !== "") lastWords = `: ${line.trim()}`;
  };
  const progress = (): void => {
    lastSign = begun = performance.now();
    isNoticeDue = false;
    hasAnswered = true;
  };
  const timer = setInterval(check, CHECK_MS);
  try {
    return await work({ signal: abort.signal, logger: { ...silentLogger, warn }, progress });
  } finally {
    clearInterval(timer);
  }
}

/** With a program that asks in a window, ssh needs no terminal. */
function defaultSilence(): number {
  return process.env["SSH_ASKPASS"] ? LONGEST_MS : SILENCE_MS;
}

/**
 * True if a program that this one has started has opened a terminal, as ssh does while it asks for a password: it does
 * not inherit one.
 */
function asksOnTerminal(): boolean {
  // A system without /proc does not say.
  if (process.platform !== "linux") return process.stderr.isTTY;
  const programs = listChildren(process.pid);
  // Includes the programs that they have started.
  for (const pid of programs) if (programs.length < MAX_PROGRAMS) programs.push(...listChildren(pid));
  return programs.some(hasTerminal);
}

function hasTerminal(pid: number): boolean {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).some((fd) => TERMINAL.test(readlinkSync(`${directory}/${fd}`)));
  } catch (error) {
    // EPERM: it belongs to another user, as with sudo. Otherwise it has ended.
    return (error as NodeJS.ErrnoException).code === "EACCES" && process.stderr.isTTY;
  }
}

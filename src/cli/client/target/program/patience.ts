import { formatDuration } from "../../../../base/duration.ts";
import { type Logger, silentLogger } from "../../../../base/logger.ts";
import { Failure } from "../../outcome/failure.ts";
import { complain } from "../../print/complain.ts";
import { asksOnTerminal } from "./asks-on-terminal.ts";

/** How long a program may be silent before it answers. */
const SILENCE_MS = 15_000;
/** For one that says something on stderr, or asks for a password. */
const LONGEST_MS = 120_000;
/** After that, a line says what is being waited for. */
const NOTICE_MS = 3_000;
const CHECK_MS = 250;

/** What the work gets: when to give up, and where the program's stderr goes. */
interface Waiting {
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** A program that is waited for. */
interface Waited {
  /** As the user names the host. */
  readonly name: string;
  readonly program: string;
  /** How long it may be silent, if the user has said so. */
  readonly silenceMs: number | undefined;
}

/**
 * Waits for a program to answer. It is given up if it is silent for too long, but not while it asks for a password on
 * the terminal, or could do so in a window.
 */
export async function patiently<T>(
  { name, program, silenceMs = defaultSilence() }: Waited,
  work: (waiting: Waiting) => Promise<T>,
  isAsking = asksOnTerminal,
): Promise<T> {
  const longestMs = Math.max(LONGEST_MS, silenceMs);
  const abort = new AbortController();
  const begun = performance.now();
  let lastSign = begun;
  let lastWords = "";
  let isNoticeDue = process.stderr.isTTY;
  const giveUp = (ms: number): void => {
    const reason = `no answer from ${program} within ${formatDuration(ms)}${lastWords}`;
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
  const timer = setInterval(check, CHECK_MS);
  try {
    return await work({ signal: abort.signal, logger: { ...silentLogger, warn } });
  } finally {
    clearInterval(timer);
  }
}

/** With a program that asks in a window, ssh needs no terminal. */
function defaultSilence(): number {
  return process.env["SSH_ASKPASS"] ? LONGEST_MS : SILENCE_MS;
}

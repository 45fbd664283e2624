import { InvalidArgumentError } from "commander";
import { constants } from "node:os";
import type { SignalName } from "../../../protocol/process.ts";

/** Signals that a server sends. */
const SIGNALS = [
  "SIGTERM",
  "SIGKILL",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGSTOP",
  "SIGCONT",
] as const satisfies readonly SignalName[];

/** Names as they can be typed. */
export const SIGNAL_WORDS: readonly string[] = SIGNALS.map((name) => name.slice("SIG".length));

/** Parses `TERM`, `SIGTERM`, `term` or `15`. */
export function parseSignal(text: string): (typeof SIGNALS)[number] {
  const upper = text.toUpperCase();
  const known = SIGNALS.find(
    (name) => name === upper || name === `SIG${upper}` || String(constants.signals[name]) === text,
  );
  if (known === undefined) throw new InvalidArgumentError(`Expected one of ${SIGNAL_WORDS.join(", ")}.`);
  return known;
}

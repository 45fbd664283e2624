import { constants } from "node:os";
import type { Host } from "../../../client/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { Failure } from "../failure.ts";

/** Signals that people and service managers send to a command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Status of a program that signal n has ended, minus n. */
const SIGNALLED = 128;
const BEFORE_WRITTEN = "before all of the output could be written";
const WHILE_LOST = "while the connection is lost; the server ends the command when nobody comes back to it";

/**
 * Passes signals on to a process, until `stop` is called. One that cannot be passed on, because the connection is lost
 * or the process has ended, rejects `givenUp`: whoever presses Ctrl-C wants this command to end. `passed` are the
 * others.
 */
export function forwardSignals(
  host: Host,
  remote: RemoteProcess,
): { stop: () => void; givenUp: Promise<never>; passed: ReadonlySet<NodeJS.Signals> } {
  const passed = new Set<NodeJS.Signals>();
  const removals: (() => void)[] = [];
  const givenUp = new Promise<never>((_, reject) => {
    let isFirst = true;
    const pass = async (signal: (typeof SIGNALS)[number]): Promise<void> => {
      const isAgain = !isFirst;
      isFirst = false;
      if (host.state !== "connected") reject(interrupted(signal, WHILE_LOST));
      else if (isAgain && (await hasExited(remote))) reject(interrupted(signal, BEFORE_WRITTEN));
      else {
        passed.add(signal);
        await remote.signal(signal);
      }
    };
    for (const signal of SIGNALS) {
      // A process that is gone needs no signal; a lost session is reported by its output.
      const forward = (): void => void pass(signal).catch(() => {});
      process.on(signal, forward);
      removals.push(() => process.off(signal, forward));
    }
  });
  givenUp.catch(() => {});
  return {
    givenUp,
    passed,
    stop: () => {
      for (const remove of removals) remove();
    },
  };
}

/** Asks the server: the news of an exit comes after the output, which nobody may be reading. */
async function hasExited(remote: RemoteProcess): Promise<boolean> {
  return (await remote.read({ afterSeq: Number.MAX_SAFE_INTEGER, maxBytes: 1 })).exited;
}

function interrupted(signal: (typeof SIGNALS)[number], when: string): Failure {
  return new Failure(`interrupted ${when}`, SIGNALLED + constants.signals[signal]);
}

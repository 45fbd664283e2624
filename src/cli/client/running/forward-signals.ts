import { constants } from "node:os";
import type { Host } from "../../../client/host/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { after, formatDuration } from "../../../base/duration.ts";
import { Failure } from "../../shared/failure.ts";
import { complain } from "../print/complain.ts";
import { askForEnd, END_MS } from "./unreported-end.ts";

/** Signals that people and service managers send to a command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Status of a program that signal n has ended, minus n. */
const SIGNALLED = 128;
const BEFORE_WRITTEN = "before all output was written";
const GIVEN_UP = "twice, so the command was abandoned; the server ends what is left of it with its session";
/** Signals that ask a command to end. */
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]);
const WHILE_LOST = "while the connection was lost; the server ends the command unless a client reconnects";

/**
 * Passes signals on to a process, until `stop` is called. If one cannot be passed on, because the connection is lost or
 * the process has ended, `givenUp` rejects, because Ctrl-C should end this command. So it does if the server does not
 * report the end, and on a signal to a command that has ignored an earlier one for some time. `passed` are the others.
 */
export function forwardSignals(
  host: Host,
  remote: RemoteProcess,
  isWriting: () => boolean,
): { stop: () => void; givenUp: Promise<never>; passed: ReadonlySet<NodeJS.Signals> } {
  const passed = new Set<NodeJS.Signals>();
  const removals: (() => void)[] = [];
  const givenUp = new Promise<never>((_, reject) => {
    let isFirst = true;
    let isStubborn = false;
    let cancelCheck: (() => void) | undefined;
    removals.push(() => cancelCheck?.());
    const check = async (signal: (typeof SIGNALS)[number]): Promise<void> => {
      const said = await askForEnd(remote, isWriting);
      if (said instanceof Failure) reject(new Failure(said.message, statusAfter(signal)));
      else if (said === "running") {
        isStubborn = true;
        complain(
          `the command still runs ${formatDuration(END_MS)} after ${signal}; press Ctrl-C again to abandon it`,
        );
      }
    };
    const pass = async (signal: (typeof SIGNALS)[number]): Promise<void> => {
      const isAgain = !isFirst;
      isFirst = false;
      if (host.state !== "connected") reject(interrupted(signal, WHILE_LOST));
      else if (isStubborn && ENDING.has(signal)) reject(interrupted(signal, GIVEN_UP));
      else if (isAgain && (await hasExited(remote))) reject(interrupted(signal, BEFORE_WRITTEN));
      else {
        passed.add(signal);
        if (ENDING.has(signal)) cancelCheck ??= after(END_MS, () => void check(signal));
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

/** Asks the server: the exit is reported after the output, which may have no reader. */
async function hasExited(remote: RemoteProcess): Promise<boolean> {
  return (await remote.read({ afterSeq: Number.MAX_SAFE_INTEGER, maxBytes: 1 })).exited;
}

function interrupted(signal: (typeof SIGNALS)[number], when: string): Failure {
  return new Failure(`interrupted ${when}`, statusAfter(signal));
}

function statusAfter(signal: (typeof SIGNALS)[number]): number {
  return SIGNALLED + constants.signals[signal];
}

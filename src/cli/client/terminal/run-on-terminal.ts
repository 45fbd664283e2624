import { constants } from "node:os";
import type { Host } from "../../../client/host/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import type { StartOptions, TerminalOptions } from "../../../client/process/start-request.ts";
import { Failure, OWN_FAILURE_STATUS } from "../../shared/failure.ts";
import { overdueEnd } from "../running/unreported-end.ts";
import { statusOf } from "../outcome/exit-status.ts";
import { converse, type Outcome } from "./converse.ts";
import { LocalTerminal } from "./local-terminal.ts";

/** Variables that describe this terminal to programs. */
const TERMINAL_VARIABLES = ["TERM", "COLORTERM"] as const;

/** Options of a start on a terminal like this one. */
export function terminalOptions({ env, ...options }: Omit<StartOptions, "stdin">): TerminalOptions {
  const described = Object.fromEntries(
    TERMINAL_VARIABLES.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return { ...options, env: { ...described, ...env }, ...new LocalTerminal().size };
}

/** Runs a command on a terminal that is shown here. `started` sees it first. Resolves with its status. */
export async function runOnTerminal(
  host: Host,
  argv: readonly string[],
  options: Omit<StartOptions, "stdin">,
  started: (remote: RemoteProcess, terminal: LocalTerminal) => void | Promise<void> = () => {},
): Promise<number> {
  const remote = await host.terminal(argv, {
    ...terminalOptions(options),
    followScreen: true,
    // Background processes of a shell do not keep its terminal open.
    ...(host.supports("process/start.closeOnExit") ? { closeOnExit: true } : {}),
  });
  const terminal = new LocalTerminal();
  await started(remote, terminal);
  const end = overdueEnd(remote, options.timeoutMs);
  const outcome = await converse(terminal, host, remote, { givenUp: end.overdue }).finally(end.stop);
  if (outcome.kind !== "left") return statusOfOutcome(outcome);
  throw new Failure("left the terminal, and ended the command", OWN_FAILURE_STATUS);
}

/** The status of this program if a process or a signal has ended it. */
export function statusOfOutcome(outcome: Exclude<Outcome, { kind: "left" }>): number {
  return outcome.kind === "ended" ? statusOf(outcome.report) : 128 + constants.signals[outcome.signal];
}

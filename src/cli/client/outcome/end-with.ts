import type { Command } from "commander";
import { asFailure, OWN_FAILURE_STATUS } from "../../shared/failure.ts";
import { failedStart } from "./exit-status.ts";

/** How this program ends: with a status, or by Ctrl-C. */
export type End = number | "SIGINT";

/** Status that a shell reports for a program ended by SIGINT. */
export const INTERRUPTED_STATUS = 130;
/** A signal to oneself arrives at once. */
const SIGNAL_DEADLINE_MS = 1_000;

/**
 * Ends the program although stdin may still be open. Everything written must have been flushed. A shell stops a script
 * or a loop after Ctrl-C only if the signal ended the program: a status alone does not show that.
 */
export async function endWith(end: End): Promise<never> {
  if (end !== "SIGINT") process.exit(end);
  process.removeAllListeners(end);
  process.kill(process.pid, end);
  return await new Promise(() => setTimeout(() => process.exit(INTERRUPTED_STATUS), SIGNAL_DEADLINE_MS));
}

/**
 * Runs `run` with the arguments and the options of a command, also those before its name. The program ends with the
 * status that it resolves with, or 0.
 */
export function setAction(command: Command, run: (...args: never[]) => Promise<End | void>): void {
  command.action(async (...args: unknown[]) => {
    // Commander passes its own view of the options and the command after the arguments.
    const parsed = [...args.slice(0, -2), command.optsWithGlobals()];
    await endWith((await run(...(parsed as never[]))) ?? 0);
  });
}

/** For a command that returns a process's status: failures of exec-server itself end with 255. */
export function withOwnStatus<Args extends unknown[]>(
  run: (...args: Args) => Promise<End>,
): (...args: Args) => Promise<End> {
  return async (...args) => {
    try {
      return await run(...args);
    } catch (error) {
      throw failedStart(error) ?? asFailure(error, OWN_FAILURE_STATUS) ?? error;
    }
  };
}

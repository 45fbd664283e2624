/** How this program ends: with a status, or by Ctrl-C. */
export type End = number | "SIGINT";

/** What a shell reports for a program that SIGINT has ended. */
export const INTERRUPTED_STATUS = 130;
/** A signal to oneself arrives at once. */
const SIGNAL_DEADLINE_MS = 1_000;

/**
 * Ends the program although stdin may still be open. Everything written must have been flushed. A shell stops a script
 * or a loop after Ctrl-C only if the signal has ended the program: a status alone does not say so.
 */
export async function endWith(end: End): Promise<never> {
  if (end !== "SIGINT") process.exit(end);
  process.removeAllListeners(end);
  process.kill(process.pid, end);
  return await new Promise(() => setTimeout(() => process.exit(INTERRUPTED_STATUS), SIGNAL_DEADLINE_MS));
}

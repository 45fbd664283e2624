import type { ExitReport } from "../../../client/routes/process-events.ts";

/** How a process ended, in words. */
export function endText({ exitCode, signal, timedOut }: ExitReport): string {
  const how =
    typeof signal === "string"
      ? `ended by ${signal}`
      : exitCode === null
        ? "ended"
        : `exited with ${exitCode}`;
  return timedOut === true ? `${how} after its time was up` : how;
}

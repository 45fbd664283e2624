import type { ExitReport } from "../../client/browser.ts";
import { formatBytes, formatSpan } from "../ui/format.ts";

/** How a process ended, in sentences. */
export function exitWords(report: ExitReport): readonly string[] {
  const { exitCode, signal, killedBy, timedOut, sandboxDenied, cpuTimeMs, peakMemoryBytes } = report;
  const words: string[] = [];
  if (signal !== undefined)
    words.push(`Ended by ${signal}${killedBy === undefined ? "" : `, ${SENDERS[killedBy]}`}.`);
  else if (exitCode !== null) words.push(exitCode === 0 ? "Ended with 0." : `Ended with ${exitCode}.`);
  if (timedOut === true) words.push("Its time was over.");
  if (sandboxDenied) words.push("Its sandbox probably denied something that it needed.");
  if (cpuTimeMs !== undefined) words.push(`${cpuText(cpuTimeMs.user + cpuTimeMs.system)} of processor time.`);
  if (peakMemoryBytes !== undefined) words.push(`At most ${formatBytes(peakMemoryBytes)} of memory.`);
  return words;
}

const SENDERS = {
  client: "which somebody sent through this server",
  timeout: "because its time was over",
  server: "which the server sent",
} as const;

function cpuText(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : formatSpan(ms);
}

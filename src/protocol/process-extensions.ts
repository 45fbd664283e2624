import { z } from "zod";
import { method } from "./define.ts";
import { Empty, optional, ProcessId, Unsigned } from "./fields.ts";
import { ExitReport, TerminalSize } from "./process.ts";

/** What this server adds to Codex's process methods. */
export const processExtensionMethods = {
  "process/flow": method({
    doc: "Stops or restarts the sending of one process's events. Meanwhile its output waits, then the process does; nothing is lost.",
    family: "exec",
    extension: true,
    params: z.object({
      processId: ProcessId,
      paused: z.boolean().describe("Counts for this connection only, and ends with it"),
    }),
    result: Empty,
  }),
  "process/resize": method({
    doc: "Gives a process's terminal another size, of which its program is told by SIGWINCH. An ended process is no error.",
    family: "exec",
    extension: true,
    params: z.object({ processId: ProcessId, ...TerminalSize.shape }),
    result: Empty,
  }),
  "process/closeStdin": method({
    doc: "Ends a process's input, after what was written before. A pipe is closed; a terminal gets the EOF character (0x04), twice in the middle of a line. Without an open input it does nothing.",
    family: "exec",
    extension: true,
    params: z.object({ processId: ProcessId }),
    result: Empty,
  }),
  "process/wait": method({
    doc: "Answers when the process has ended, or the time is over.",
    family: "exec",
    extension: true,
    params: z.object({
      processId: ProcessId,
      until: optional(z.enum(["exited", "closed"])).describe(
        "`exited` when absent; `closed` waits for the end of the output too",
      ),
      timeoutMs: optional(Unsigned).describe("Without it there is no limit"),
    }),
    result: z.object({
      exited: z.boolean().describe("False when the time was over first"),
      closed: z.boolean(),
      exitCode: z.number().int().nullable(),
      exit: ExitReport.optional(),
    }),
  }),
};

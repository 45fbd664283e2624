import * as z from "zod";
import { method, notification, schema, type Infer } from "./define.ts";
import { Base64, Empty, optional, PathUri, ProcessId, Seq, Unsigned } from "./fields.ts";
import { ExitReport, OutputStream, TerminalSize } from "./process.ts";

export const ListedProcess = schema(() =>
  z.object({
    processId: ProcessId(),
    own: z.boolean().describe("Belongs to the session that asks"),
    pid: z.number().int(),
    argv: z.array(z.string()),
    cwd: PathUri(),
    label: z.string().nullable(),
    tty: z.boolean(),
    startedAtMs: z.number().int().describe("Milliseconds since the epoch"),
    state: z.enum(["running", "exited", "closed"]),
    exitCode: z.number().int().nullable(),
    outputBytes: Unsigned().describe("All that it has written"),
    retainedBytes: Unsigned().describe("What `process/read` can still return of that"),
  }),
);
/** A process as `process/list` shows it. */
export type ListedProcess = Infer<typeof ListedProcess>;

export const TerminalScreen = schema(() =>
  z.object({
    lines: z.array(z.string()).describe("From top to bottom, without the spaces at their ends"),
    cursor: z.object({ row: Unsigned(), col: Unsigned() }).describe("From 0"),
    complete: z
      .boolean()
      .describe(
        "False when the beginning of the output was given up, and something that it set up may be missing",
      ),
  }),
);

/** What this server adds to Codex's process methods. */
export const processExtensionMethods = {
  "process/flow": method({
    doc: "Stops or restarts the sending of one process's events. Meanwhile its output waits, then the process does; nothing is lost.",
    family: "exec",
    extension: true,
    ordered: "processId",
    overtakes: "always",
    params: () =>
      z.object({
        processId: ProcessId(),
        paused: z.boolean().describe("Counts for this connection only, and ends with it"),
      }),
    result: Empty,
  }),
  "process/resize": method({
    doc: "Gives a process's terminal another size, of which its program is told by SIGWINCH. An ended process is no error.",
    family: "exec",
    extension: true,
    ordered: "processId",
    overtakes: "always",
    params: () => z.object({ processId: ProcessId(), ...TerminalSize().shape }),
    result: Empty,
  }),
  "process/closeStdin": method({
    doc: "Ends a process's input, after what was written before. A pipe is closed; a terminal gets the EOF character (0x04), twice in the middle of a line. Without an open input it does nothing.",
    family: "exec",
    extension: true,
    ordered: "processId",
    overtakes: "urgentInput",
    params: () => z.object({ processId: ProcessId() }),
    result: Empty,
  }),
  "process/wait": method({
    doc: "Answers when the process has ended, or the time is over.",
    family: "exec",
    extension: true,
    params: () =>
      z.object({
        processId: ProcessId(),
        until: optional(z.enum(["exited", "closed"])).describe(
          "`exited` when absent; `closed` waits for the end of the output too",
        ),
        timeoutMs: optional(Unsigned()).describe("Without it there is no limit"),
      }),
    result: () =>
      z.object({
        exited: z.boolean().describe("False when the time was over first"),
        closed: z.boolean(),
        exitCode: z.number().int().nullable(),
        exit: ExitReport().optional(),
      }),
  }),
  "process/attach": method({
    doc: "Sends the events of a process to this connection too. It may be read, waited for and shown here, but not written to, signalled or ended. A process of another session does not wait for this connection: what it cannot keep is told by `process/gap`.",
    family: "exec",
    extension: true,
    ordered: "processId",
    params: () =>
      z.object({
        sessionId: optional(z.string()).describe(
          "Session that the process belongs to; this one when absent. Whoever knows the id of a session may attach, so keep it as a secret",
        ),
        processId: ProcessId(),
        as: optional(ProcessId()).describe(
          "Id that the process has on this connection; `processId` when absent",
        ),
        fromSeq: optional(Unsigned()).describe("First event to send; only later ones when absent"),
      }),
    result: () =>
      z.object({
        processId: ProcessId().describe("The id that it has on this connection"),
        nextSeq: Seq().describe("One past the newest event"),
        tty: z.boolean().describe("It runs on a terminal"),
        exited: z.boolean(),
        closed: z.boolean(),
      }),
  }),
  "process/detach": method({
    doc: "Sends no more events of a process to this connection, until it is attached again. The process goes on and does not wait.",
    family: "exec",
    extension: true,
    ordered: "processId",
    params: () => z.object({ processId: ProcessId() }),
    result: Empty,
  }),
  "process/list": method({
    doc: "Lists processes in the order of their start, the ended ones that can still be read among them.",
    family: "exec",
    extension: true,
    params: () =>
      z.object({
        scope: optional(z.enum(["session", "server"])).describe(
          "`session` when absent; `server` lists all sessions' processes, where the server is set up to allow it",
        ),
      }),
    result: () => z.object({ processes: z.array(ListedProcess()) }),
  }),
  "process/snapshot": method({
    doc: "Returns the beginning and the end of what a process has written, stream by stream. At least 64 KiB of each are kept, whatever other streams write.",
    family: "exec",
    extension: true,
    params: () =>
      z.object({
        processId: ProcessId(),
        stream: optional(OutputStream()).describe("Only this one"),
        maxBytes: optional(Unsigned()).describe("For each stream; 131072 when absent"),
        screen: z.boolean().optional().describe("Tell what the terminal shows, too"),
      }),
    result: () =>
      z.object({
        streams: z.array(
          z.object({
            stream: OutputStream(),
            head: Base64().describe("All of it when nothing is left out"),
            omittedBytes: Unsigned().describe("Between head and tail"),
            tail: Base64(),
            totalBytes: Unsigned(),
          }),
        ),
        running: z.boolean(),
        exitCode: z.number().int().nullable(),
        screen: TerminalScreen().optional().describe("Where it was asked for and there is a terminal"),
      }),
  }),
};

export const processExtensionNotifications = {
  "process/gap": notification({
    doc: "Events of an attached process were dropped before this connection could take them.",
    from: "server",
    extension: true,
    params: () =>
      z.object({
        processId: ProcessId(),
        fromSeq: Seq(),
        toSeq: Seq().describe("The last one that is missing"),
      }),
  }),
};

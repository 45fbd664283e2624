import * as z from "zod";
import { type Infer, methodsWith, notification, object, schema } from "./define.ts";
import {
  Base64,
  Empty,
  flag,
  NoParams,
  nullableFlag,
  optional,
  PathUri,
  ProcessId,
  Seq,
  Unsigned,
} from "./fields.ts";
import { ExitReport, KeptName, OutputStream, TerminalSize } from "./process.ts";

const ShownSize = schema(() => z.object({ rows: Unsigned(), cols: Unsigned() }));
export const ProcessUsage = object(() => ({
  cpuMs: z.number().min(0).describe("CPU time so far"),
  memoryBytes: Unsigned().describe("Memory in use; memory that processes share counts for each of them"),
  processes: Unsigned().describe("How many there are"),
  atMs: z.number().int().describe("When it was measured, in milliseconds since the epoch"),
}));
/** Resources that a process uses, including everything it has started. */
export type ProcessUsage = Infer<typeof ProcessUsage>;

/** Of one process in a list, which must fit in a message. */
export const MAX_LISTED_ARGUMENTS = 65_536;

export const ListedProcess = object(() => ({
  processId: ProcessId(),
  own: z.boolean().describe("Belongs to the requesting session"),
  pid: z.number().int(),
  argv: z.array(z.string()).describe(`The first ${MAX_LISTED_ARGUMENTS} at most`),
  cwd: PathUri(),
  label: z.string().nullable(),
  tty: z.boolean(),
  hasInput: flag("Whether it was started with an input that can be written to. Absent from older servers"),
  startedAtMs: z.number().int().describe("Milliseconds since the epoch"),
  state: z.enum(["running", "exited", "closed"]),
  exitCode: z.number().int().nullable(),
  signal: z.string().optional().describe("Signal that ended it"),
  outputBytes: Unsigned().describe("Total output written"),
  retainedBytes: Unsigned().describe("Part of it that `process/read` can still return"),
  endedAtMs: z.number().int().optional().describe("When it ended; absent while it runs"),
  name: z.string().optional().describe("Name of a kept process"),
  owner: z.string().optional().describe("Principal that a kept process belongs to"),
  attached: Unsigned().optional().describe("Number of connections that are attached to a kept process"),
  terminalSize: ShownSize().optional().describe("Size of its terminal"),
  usage: ProcessUsage()
    .optional()
    .describe("If requested: what it and everything it has started use; absent once it has ended"),
}));
/** A process as `process/list` shows it. */
export type ListedProcess = Infer<typeof ListedProcess>;

export const ListeningPort = object(() => ({
  port: Unsigned(),
  host: z.string().describe("Loopback address at which the server's machine reaches it"),
  pid: z.number().int().describe("Number of the process that listens"),
  program: z.string().describe("Name of that process, as the system has it"),
  processId: ProcessId().describe("The process that has started it, or that it is; the name of a kept one"),
  own: z.boolean().describe("That process belongs to the requesting session"),
  name: z.string().optional().describe("Name of a kept process"),
  owner: z.string().optional().describe("Principal that a kept process belongs to"),
}));
/** A TCP port as `process/ports` shows it. */
export type ListeningPort = Infer<typeof ListeningPort>;

export const TerminalScreen = object(() => ({
  lines: z.array(z.string()).describe("From top to bottom, without trailing spaces"),
  cursor: z.object({ row: Unsigned(), col: Unsigned() }).describe("From 0"),
  complete: z
    .boolean()
    .describe("False if the beginning of the output was evicted, so that state it set up may be missing"),
  nextSeq: Seq().optional().describe("First event that it does not show"),
  size: ShownSize().optional().describe("Of the screen; a huge terminal is cut off"),
  paint: optional(Base64()).describe(
    "If requested: text and escape sequences that make an empty terminal of the same size show the screen, with its colours, cursor and modes. The output from `nextSeq` on continues it",
  ),
}));

/** What this server adds to Codex's process methods. */
/** Longer than any principal. */
const MAX_OWNER_CHARACTERS = 2_048;

const followMethod = methodsWith({
  family: "exec",
  right: "follow",
  lost: "repeat",
  answers: "promptly",
  extension: true,
});
const controlMethod = methodsWith({
  family: "exec",
  right: "control",
  lost: "repeat",
  answers: "promptly",
  extension: true,
});

export const processExtensionMethods = {
  "process/flow": followMethod({
    doc: "Pauses or resumes the events of one process. While paused, its output is buffered, then the process waits; nothing is lost.",
    lost: "opened",
    answers: "eventually",
    ordered: "processId",
    overtakes: "always",
    params: () => ({
      processId: ProcessId(),
      paused: z.boolean().describe("Applies to this connection only, and ends with it"),
    }),
    result: Empty,
  }),
  "process/resize": controlMethod({
    doc: "Resizes a process's terminal; the program gets SIGWINCH. Resizing an ended process is not an error.",
    ordered: "processId",
    overtakes: "always",
    params: () => ({ processId: ProcessId(), ...TerminalSize().shape }),
    result: Empty,
  }),
  "process/closeStdin": controlMethod({
    doc: "Ends a process's input after everything written before. A pipe is closed; a terminal gets the EOF character (0x04), twice in the middle of a line. Does nothing if there is no open input.",
    ordered: "processId",
    overtakes: "urgentInput",
    params: () => ({ processId: ProcessId() }),
    result: Empty,
  }),
  "process/wait": followMethod({
    doc: "Answers when the process has ended, or on timeout.",
    answers: "eventually",
    params: () => ({
      processId: ProcessId(),
      until: optional(z.enum(["exited", "closed"])).describe(
        "Default: `exited`; `closed` also waits for the end of the output",
      ),
      timeoutMs: optional(Unsigned()).describe("Default: no timeout"),
    }),
    result: () => ({
      exited: z.boolean().describe("False on timeout"),
      closed: z.boolean(),
      exitCode: z.number().int().nullable(),
      exit: ExitReport().optional(),
    }),
  }),
  "process/attach": followMethod({
    doc: "Also sends the events of a process to this connection, which may read it, wait for it and take snapshots. It may write to it, resize it, signal it or end it only with the mode `control`, which kept processes have. A kept process, or one of another session, does not wait for this connection: evicted events are reported by `process/gap`. An attachment to a kept process survives the reconnection of its session; attaching to it again under the same id changes nothing.",
    lost: { repeatWith: "name", otherwise: "opened" },
    alsoNeeds: { param: "mode", is: "control", right: "control" },
    ordered: "processId",
    params: () => ({
      name: optional(KeptName()).describe("Name of a kept process, instead of `sessionId` and `processId`"),
      owner: optional(z.string().max(MAX_OWNER_CHARACTERS)).describe(
        "Whom the kept process belongs to: the name of a token, or `owner` of `process/list`. Default: this principal, or else the only other one that has a process of that name and lets this client follow it",
      ),
      sessionId: optional(z.string()).describe(
        "Session that the process belongs to. Default: this one. It must be of the same principal",
      ),
      processId: optional(ProcessId()),
      mode: optional(z.enum(["follow", "control"])).describe(
        "`control` needs a kept process. Default: `follow`",
      ),
      as: optional(ProcessId()).describe(
        "Id of the process on this connection. Default: `processId` or `name`",
      ),
      fromSeq: optional(Unsigned()).describe("First event to send. Default: only new events"),
    }),
    result: () => ({
      processId: ProcessId().describe("Id of the process on this connection"),
      nextSeq: Seq().describe("One past the newest event"),
      firstSeq: Seq().optional().describe("Oldest event that is retained"),
      tty: z.boolean().describe("Whether it runs on a terminal"),
      exited: z.boolean(),
      closed: z.boolean(),
      name: z.string().optional().describe("Name of a kept process"),
      owner: z.string().optional().describe("Whom a kept process of another principal belongs to"),
    }),
  }),
  "process/detach": followMethod({
    doc: "Stops sending events of a process to this connection until it is attached again. The process continues and does not wait. Ends the control of a kept process.",
    ordered: "processId",
    extensionParams: ["forget"],
    params: () => ({
      processId: ProcessId(),
      forget: nullableFlag(
        "Also forget a kept process that this connection controls and that has ended: its output is gone and its name is free. One that has not ended stays",
      ),
    }),
    result: Empty,
  }),
  "process/rename": controlMethod({
    doc: "Gives a kept process that this connection controls another name. Connections that are attached to it stay attached. Fails with ALREADY_EXISTS if its owner has another process of that name.",
    ordered: "processId",
    params: () => ({ processId: ProcessId(), name: KeptName() }),
    result: Empty,
  }),
  "process/list": followMethod({
    doc: "Lists processes in start order, including ended ones that can still be read.",
    extensionParams: ["usage", "after"],
    params: () => ({
      scope: optional(z.enum(["session", "kept", "server"])).describe(
        "Default: `session`. `kept` lists the kept processes of this principal and those that it may follow, with their names as ids; `server` lists those and the processes of all sessions, if the server's configuration allows it",
      ),
      usage: flag("Also return what running processes use. It is measured at most every 500 ms"),
      after: optional(z.object({ startedAtMs: Unsigned(), pid: Unsigned() })).describe(
        "List only processes that were started after this one, and only as many as fit in a message; zeros stand for the beginning",
      ),
    }),
    result: () => ({
      processes: z.array(ListedProcess()),
      more: flag("With `after`: there are further processes, after the last of these"),
    }),
  }),
  "process/ports": controlMethod({
    doc: "Lists the TCP ports on which this client's processes, or what they have started, listen: on loopback or on every address of the server's machine. Its processes are those of its principal's sessions, and the kept ones that it may control. Ports inside a sandbox with a network of its own are not listed.",
    params: NoParams,
    result: () => ({
      ports: z.array(ListeningPort()).describe("By number; the first 1024 at most"),
    }),
  }),
  "process/times": followMethod({
    doc: "Returns when the server received each retained event of a process, by its own clock, starting with `firstSeq`; on a durable server also of events that are only on disk.",
    extensionParams: ["ageMs"],
    params: () => ({
      processId: ProcessId(),
      fromSeq: optional(Seq()).describe("First event. Default: the oldest that is retained"),
      ageMs: optional(Unsigned()).describe(
        "Instead of `fromSeq`: begin after the last event that is older than this, by the server's clock",
      ),
    }),
    result: () => ({
      firstSeq: Seq().describe("Event of the first time; later than `fromSeq` if that was evicted"),
      timesMs: z
        .array(z.number().int())
        .describe(
          "Milliseconds since the epoch; up to 16384, or until an event is missing, so ask again if there are more events",
        ),
    }),
  }),
  "process/snapshot": followMethod({
    doc: "Returns the beginning and the end of a process's output, per stream. At least 64 KiB of each are kept, whatever other streams write.",
    extensionParams: ["paint"],
    params: () => ({
      processId: ProcessId(),
      stream: optional(OutputStream()).describe("Only this stream"),
      maxBytes: optional(Unsigned()).describe("Per stream. Default: 131072"),
      screen: flag("Also return the terminal's screen"),
      paint: flag("Also return what paints the screen; implies `screen`"),
    }),
    result: () => ({
      streams: z.array(
        z.object({
          stream: OutputStream(),
          head: Base64().describe("The whole output if nothing is omitted"),
          omittedBytes: Unsigned().describe("Between head and tail"),
          tail: Base64(),
          totalBytes: Unsigned(),
        }),
      ),
      running: z.boolean(),
      exitCode: z.number().int().nullable(),
      screen: TerminalScreen().optional().describe("Present if requested and the process has a terminal"),
    }),
  }),
};

export const processExtensionNotifications = {
  "process/started": notification({
    doc: "A process has started; sent where `initialize` asked for it with `reportStarts`. It precedes the answer to `process/start` and every event of the process, and comes again with the answer to a repeated start.",
    from: "server",
    extension: true,
    params: () =>
      z.object({ processId: ProcessId(), pid: z.number().int().describe("Number of the process") }),
  }),
  "process/failed": notification({
    doc: "A process could not be started; sent where `initialize` asked for it with `reportStarts`, before the error that answers `process/start`. A start that is refused before it is tried, such as one with an id in use, gets only its error.",
    from: "server",
    extension: true,
    params: () => ({
      processId: ProcessId(),
      message: z.string().describe("That of the error"),
      code: z.string().optional().describe("`data.code` of the error"),
    }),
  }),
  "process/gap": notification({
    doc: "Events of an attached process were evicted before this connection could receive them.",
    from: "server",
    extension: true,
    params: () => ({
      processId: ProcessId(),
      fromSeq: Seq(),
      toSeq: Seq().describe("Last missing event"),
    }),
  }),
};

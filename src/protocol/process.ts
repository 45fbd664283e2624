import * as z from "zod";
import { extensionField, method, notification, schema, type Infer } from "./define.ts";
import { Base64, Empty, optional, PathUri, ProcessId, record, Seq, Unsigned } from "./fields.ts";
import { NetworkProxyLaunch } from "./network.ts";
import { SandboxContext } from "./sandbox.ts";

export const OutputStream = schema(() => z.enum(["stdout", "stderr", "pty"]));
export type OutputStream = Infer<typeof OutputStream>;

export const EnvPolicy = schema(() =>
  z.object({
    inherit: z.enum(["core", "all", "none"]).describe("What is taken from the server's own environment"),
    ignoreDefaultExcludes: z
      .boolean()
      .describe("Keep names that look like secrets (*KEY*, *SECRET*, *TOKEN*)"),
    exclude: z.array(z.string()).describe("Wildcards of names to drop"),
    set: record(z.string()),
    includeOnly: z
      .array(z.string())
      .describe("If not empty, only matching names stay, `set` entries included"),
  }),
);
export type EnvPolicy = Infer<typeof EnvPolicy>;

const Cells = schema(() => z.number().int().min(1).max(65_535));

export const TerminalSize = schema(() => z.object({ rows: Cells(), cols: Cells() }));
export type TerminalSize = Infer<typeof TerminalSize>;

const Limit = schema(() => z.number().int().min(1));

export const ProcessLimits = schema(() =>
  z.object({
    memoryBytes: optional(Limit()).describe("Address space of each process (RLIMIT_AS)"),
    cpuSeconds: optional(Limit()).describe(
      "Processor time of each process; then SIGXCPU, and SIGKILL a second later",
    ),
    openFiles: optional(Limit()).describe("Open files of each process"),
    processes: optional(Limit()).describe(
      "Processes of the server's user at a time; root cannot be limited so",
    ),
  }),
);
/** Resource limits of a process and of each process it starts. */
export type ProcessLimits = Infer<typeof ProcessLimits>;

/** How a process ended, as far as known; nothing is guessed. */
export const ExitReport = schema(() =>
  z.object({
    signal: z.string().optional().describe("Name of the signal that ended the process, such as `SIGKILL`"),
    killedBy: z
      .enum(["client", "timeout", "server"])
      .optional()
      .describe("On whose behalf this server had sent that signal"),
    timedOut: z
      .literal(true)
      .optional()
      .describe("The `timeoutMs` of the start was over before the process ended"),
    cpuTimeMs: z
      .object({ user: z.number(), system: z.number() })
      .optional()
      .describe("Processor time of the process and the children it waited for"),
    peakMemoryBytes: z
      .number()
      .int()
      .optional()
      .describe("Most memory of any of them; absent when it was less than the server's own, which hides it"),
  }),
);
export type ExitReport = Infer<typeof ExitReport>;

const exit = schema(() =>
  extensionField(ExitReport().optional().describe("More about the end; absent while there is none")),
);

const SIGNAL_NAMES = [
  "interrupt",
  "terminate",
  "kill",
  "hangup",
  "quit",
  "user1",
  "user2",
  "stop",
  "continue",
  "SIGINT",
  "SIGTERM",
  "SIGKILL",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGSTOP",
  "SIGCONT",
] as const;

export const SignalName = schema(() => z.enum(SIGNAL_NAMES));
/** Signals that can be sent, by POSIX name or protocol name. */
export type SignalName = Infer<typeof SignalName>;

const Shell = schema(() => z.object({ name: z.string(), path: z.string() }));

export const SpecKind = schema(() => z.enum(["direct", "prepared"]));
export type SpecKind = Infer<typeof SpecKind>;

export const ProcessStart = schema(() =>
  z.object({
    processId: ProcessId(),
    argv: z.array(z.string()).describe("Program and arguments; must not be empty"),
    cwd: PathUri(),
    env: record(z.string()).describe("Wins over `envPolicy`; without a policy it is the whole environment"),
    tty: z.boolean().describe("Run on a terminal of 24 rows and 80 columns instead of pipes"),
    arg0: optional(z.string()).describe("What the program sees as its name"),
    pipeStdin: z
      .boolean()
      .optional()
      .describe("Give the process a stdin that process/write fills; otherwise /dev/null"),
    envPolicy: optional(EnvPolicy()),
    terminalSize: optional(TerminalSize()).describe("Of the terminal, instead of 24 rows and 80 columns"),
    specKind: optional(SpecKind()).describe(
      "Whether the caller's policy has approved and resolved this very request (`prepared`) or nobody has (`direct`, when absent); Codex does not look at it",
    ),
    timeoutMs: optional(Unsigned()).describe(
      "After this the process is ended: by SIGTERM, and 2 s later by SIGKILL, together with what it has started",
    ),
    closeOnExit: z
      .boolean()
      .optional()
      .describe(
        "End the output with the process, although others may hold it open; what is there is still sent",
      ),
    idempotencyKey: optional(z.string().min(1).max(256)).describe(
      "A start that is repeated with the same key and the same parameters starts nothing and is answered alike, as long as the process is known",
    ),
    label: optional(z.string().max(1024)).describe("For people; process/list shows it"),
    limits: optional(ProcessLimits()).describe(
      "Set before the program runs; not together with `arg0`. The program sees its path as its name",
    ),
    contain: z
      .boolean()
      .optional()
      .describe(
        "Keep everything that the process starts in a control group (cgroup v2), so that nothing of it can outlive its end; not together with `arg0`. Refused with `UNSUPPORTED` where the server cannot",
      ),
    sandbox: optional(SandboxContext()),
    enforceManagedNetwork: z.boolean().optional(),
    managedNetwork: optional(
      z.object({
        loopbackPorts: z.array(z.number().int().min(0).max(65_535)).optional(),
        allowLocalBinding: z.boolean().optional(),
      }),
    ),
    networkProxy: optional(NetworkProxyLaunch()),
    shellSnapshot: optional(z.object({ scopeId: z.string(), shell: Shell() })),
    metadata: optional(
      z.object({
        threadId: optional(z.string()).describe("A UUID; the process sees it as CODEX_THREAD_ID"),
        toolCallId: optional(z.string()).describe("The process sees it as CODEX_TOOL_CALL_ID"),
      }),
    ),
  }),
);
export type ProcessStart = Infer<typeof ProcessStart>;

export const SandboxType = schema(() =>
  z.enum(["none", "linuxSeccomp", "macosSeatbelt", "windowsRestrictedToken", "windowsMxc"]),
);

export const ProcessRead = schema(() =>
  z.object({
    processId: ProcessId(),
    afterSeq: optional(Unsigned()).describe("Return events after this one; absent means from the start"),
    maxBytes: optional(Unsigned()).describe(
      "Stop before a chunk that would pass this total; the first chunk always comes",
    ),
    waitMs: optional(Unsigned()).describe("How long to wait for news"),
  }),
);
export type ProcessRead = Infer<typeof ProcessRead>;

export const ReadResult = schema(() =>
  z.object({
    chunks: z.array(z.object({ seq: Seq(), stream: OutputStream(), chunk: Base64() })),
    nextSeq: Seq(),
    exited: z.boolean(),
    exitCode: z.number().int().nullable(),
    closed: z.boolean(),
    failure: z.string().nullable().describe("Always null from a server"),
    sandboxDenied: z.boolean(),
    exit: exit(),
  }),
);
export type ReadResult = Infer<typeof ReadResult>;

export const processMethods = {
  "process/start": method({
    doc: "Starts a process, by argument vector, in its own process group.",
    family: "exec",
    extensionParams: [
      "terminalSize",
      "specKind",
      "timeoutMs",
      "closeOnExit",
      "idempotencyKey",
      "label",
      "limits",
      "contain",
    ],
    ordered: "processId",
    params: ProcessStart,
    result: () => z.object({ processId: ProcessId(), sandboxType: SandboxType().optional() }),
  }),
  "process/read": method({
    doc: "Returns retained output after a sequence number, waiting for news if asked to.",
    family: "exec",
    ordered: "processId",
    overtakes: "always",
    params: ProcessRead,
    result: ReadResult,
  }),
  "process/write": method({
    doc: "Writes to a terminal or a piped stdin. A `writeId` seen before is accepted and writes nothing.",
    family: "exec",
    ordered: "processId",
    overtakes: "urgentInput",
    params: () =>
      z.object({
        processId: ProcessId(),
        chunk: Base64(),
        writeId: z
          .string()
          .optional()
          .describe("Must not be empty. Without it what cannot be written is an error; Codex requires it"),
      }),
    result: () =>
      z.object({
        status: z.enum(["accepted", "unknownProcess", "stdinClosed", "starting"]),
        accepted: z.literal(true).optional().describe("Only in answers to writes without a `writeId`"),
      }),
  }),
  "process/signal": method({
    doc: "Sends a signal to the process group. Unknown and finished processes are no error.",
    family: "exec",
    lane: "control",
    extensionParams: ["signal"],
    ordered: "processId",
    overtakes: "always",
    params: () =>
      z.object({
        processId: ProcessId(),
        signal: SignalName().describe("A Codex server knows only `interrupt`, which is SIGINT"),
      }),
    result: Empty,
  }),
  "process/terminate": method({
    doc: "Kills the process and what it has started, at once unless told otherwise. `running` tells whether the process had not exited yet.",
    family: "exec",
    lane: "control",
    extensionParams: ["mode", "timeoutMs"],
    ordered: "processId",
    overtakes: "always",
    params: () =>
      z.object({
        processId: ProcessId(),
        mode: optional(z.enum(["now", "graceful"])).describe(
          "`now` kills at once, `graceful` sends SIGTERM first and kills what is left after `timeoutMs`; both reach all that belongs to the process. When absent, as from Codex, the process group is killed at once",
        ),
        timeoutMs: optional(Unsigned()).describe("2000 when absent"),
      }),
    result: () => z.object({ running: z.boolean() }),
  }),
};

export const processNotifications = {
  "process/output": notification({
    doc: "A piece of output. Output can still follow `process/exited`.",
    from: "server",
    params: () => z.object({ processId: ProcessId(), seq: Seq(), stream: OutputStream(), chunk: Base64() }),
  }),
  "process/exited": notification({
    doc: "The process ended. 128 + n stands for a death by signal n.",
    from: "server",
    params: () =>
      z.object({
        processId: ProcessId(),
        seq: Seq(),
        exitCode: z.number().int(),
        sandboxDenied: z.boolean().optional(),
        exit: exit(),
      }),
  }),
  "process/closed": notification({
    doc: "The process ended and so did its output: the last event of a process.",
    from: "server",
    params: () => z.object({ processId: ProcessId(), seq: Seq() }),
  }),
};

import * as z from "zod";
import { extensionField, type Infer, method, methodsWith, notification, object, schema } from "./define.ts";
import { Base64, Empty, flag, optional, PathUri, ProcessId, record, Seq, Unsigned } from "./fields.ts";
import { NetworkProxyLaunch } from "./network.ts";
import { SandboxContext } from "./sandbox.ts";

export const OutputStream = schema(() => z.enum(["stdout", "stderr", "pty"]));
export type OutputStream = Infer<typeof OutputStream>;

export const EnvPolicy = object(() => ({
  inherit: z.enum(["core", "all", "none"]).describe("What to take from the server's own environment"),
  ignoreDefaultExcludes: z.boolean().describe("Keep names that look like secrets (*KEY*, *SECRET*, *TOKEN*)"),
  exclude: z.array(z.string()).describe("Wildcards of names to drop"),
  set: record(z.string()),
  includeOnly: z
    .array(z.string())
    .describe("If not empty, only matching names are kept, `set` entries included"),
}));

const Cells = schema(() => z.number().int().min(1).max(65_535));

export const TerminalSize = schema(() => z.object({ rows: Cells(), cols: Cells() }));
export type TerminalSize = Infer<typeof TerminalSize>;

const Limit = schema(() => z.number().int().min(1));

export const ProcessLimits = object(() => ({
  memoryBytes: optional(Limit()).describe("Address space of each process (RLIMIT_AS)"),
  cpuSeconds: optional(Limit()).describe(
    "CPU time of each process; then SIGXCPU, and SIGKILL a second later",
  ),
  openFiles: optional(Limit()).describe("Open files of each process"),
  processes: optional(Limit()).describe("Number of processes of the server's user; does not limit root"),
}));
/** Resource limits of a process and of each process it starts. */
export type ProcessLimits = Infer<typeof ProcessLimits>;

/** How a process ended, as far as known; nothing is guessed. */
export const ExitReport = object(() => ({
  signal: z.string().optional().describe("Name of the signal that ended the process, such as `SIGKILL`"),
  killedBy: z
    .enum(["client", "timeout", "server"])
    .optional()
    .describe("On whose behalf this server sent that signal"),
  timedOut: z
    .literal(true)
    .optional()
    .describe("The `timeoutMs` of the start expired before the process ended"),
  cpuTimeMs: z
    .object({ user: z.number(), system: z.number() })
    .optional()
    .describe("CPU time of the process and the children it waited for"),
  peakMemoryBytes: z
    .number()
    .int()
    .optional()
    .describe("Peak memory of any of them; absent if it was less than the server's own, which hides it"),
}));
export type ExitReport = Infer<typeof ExitReport>;

const exit = schema(() =>
  extensionField(ExitReport().optional().describe("Details of the end; absent while the process runs")),
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

export const Enforced = object(() => ({
  files: z.enum(["restricted", "unrestricted"]),
  network: z.enum(["restricted", "proxied", "enabled"]),
}));
export type Enforced = Infer<typeof Enforced>;

export const KeptName = schema(() =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
      "a name has 1 to 128 letters, digits, `_`, `.` and `-`, and starts with a letter or digit",
    )
    .describe(
      "1 to 128 letters, digits, `_`, `.` and `-`, starting with a letter or digit; unique among the kept processes of a principal",
    ),
);

export const Keep = object(() => ({
  name: KeptName(),
  replace: flag("Take the place of an ended process of that name; a running one is never replaced"),
}));
/** How a process is kept. */
export type Keep = Infer<typeof Keep>;

export const NamedSecret = object(() => ({
  name: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/,
      "a secret's name has 1 to 128 letters, digits, `_`, `.` and `-`, and starts with a letter or `_`",
    )
    .describe(
      "The process finds its stand-in in the variable of that name, or in the one that the server's configuration names",
    ),
  hosts: optional(z.array(z.string().max(2_048)).max(32)).describe(
    "Only these hosts, of those that the server's secret is for: `api.example.com`, `*.example.com` or the beginning of a URL. Needed if the client sets the variable itself",
  ),
}));
/** A secret that a process uses and does not have. */
export type NamedSecret = Infer<typeof NamedSecret>;

export const ProcessStart = object(() => ({
  processId: ProcessId(),
  argv: z.array(z.string()).describe("Program and arguments; must not be empty"),
  cwd: PathUri(),
  env: record(z.string()).describe("Overrides `envPolicy`; without a policy it is the whole environment"),
  tty: z.boolean().describe("Run on a terminal of 24 rows and 80 columns instead of pipes"),
  arg0: optional(z.string()).describe("Name that the program sees as its own"),
  pipeStdin: flag("Give the process a stdin for process/write; otherwise stdin is /dev/null"),
  envPolicy: optional(EnvPolicy()),
  terminalSize: optional(TerminalSize()).describe("Size of the terminal, instead of 24 rows and 80 columns"),
  followScreen: flag(
    "Follow what the terminal shows from the start, so that `process/snapshot` has the right screen whatever was evicted. A program that writes faster than the screen can be followed has to wait. Kept terminals are always followed",
  ),
  specKind: optional(SpecKind()).describe(
    "Whether the caller's policy has approved and resolved this request (`prepared`) or not (`direct`, the default). Codex ignores it",
  ),
  timeoutMs: optional(Unsigned()).describe(
    "Timeout after which the process and what it has started get SIGTERM, and SIGKILL 2 s later",
  ),
  closeOnExit: flag(
    "End the output with the process, even if others keep it open; output already written is still sent",
  ),
  idempotencyKey: optional(z.string().min(1).max(256)).describe(
    "Repeating a start with the same key and parameters starts nothing and returns the same answer, as long as the process is known",
  ),
  tellPid: flag("Answer with the number of the process, too"),
  tellEnforced: flag("Answer with what the sandbox enforces, too"),
  label: optional(z.string().max(1024)).describe("Human-readable; shown by process/list"),
  limits: optional(ProcessLimits()).describe(
    "Set before the program runs; cannot be combined with `arg0`. The program sees its path as its name",
  ),
  contain: flag(
    "Keep everything that the process starts in a control group (cgroup v2), so that nothing can outlive it; cannot be combined with `arg0`. Fails with `UNSUPPORTED` if the server cannot do this",
  ),
  keep: optional(Keep()).describe(
    "Keep the process when its session ends: it belongs to the server, under this name. The starting session controls it as if it had attached to it with `control`. A name in use is refused with `ALREADY_EXISTS`",
  ),
  spool: optional(z.boolean()).describe(
    "Keep the whole output on the server's disk, up to its limits, so that `process/read` with `spooled` returns it. Only a durable server can. Default: for kept processes, if the server can",
  ),
  secrets: optional(z.array(NamedSecret()).max(32)).describe(
    "Secrets of the server, or variables that the client sets, which the process uses and does not have: it gets stand-ins, and a proxy puts the secrets into its requests to their hosts. Without a `networkProxy`, a process whose sandbox has no network reaches these hosts, and nothing else",
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
}));
export type ProcessStart = Infer<typeof ProcessStart>;

export const SandboxType = schema(() =>
  z.enum(["none", "linuxSeccomp", "macosSeatbelt", "windowsRestrictedToken", "windowsMxc"]),
);

export const ProcessRead = object(() => ({
  processId: ProcessId(),
  afterSeq: optional(Unsigned()).describe("Return events after this one. Default: from the start"),
  maxBytes: optional(Unsigned()).describe(
    "Stop before a chunk that would exceed this total; the first chunk is always returned",
  ),
  waitMs: optional(Unsigned()).describe("How long to wait for new events"),
  spooled: flag(
    "Also return output that is only on the server's disk. Then an answer has about a megabyte at most, and says with `more` that it ends before the newest event",
  ),
}));
export type ProcessRead = Infer<typeof ProcessRead>;

export const ReadResult = object(() => ({
  chunks: z.array(z.object({ seq: Seq(), stream: OutputStream(), chunk: Base64() })),
  nextSeq: Seq(),
  exited: z.boolean(),
  exitCode: z.number().int().nullable(),
  closed: z.boolean(),
  failure: z.string().nullable().describe("Always null from a server"),
  sandboxDenied: z.boolean(),
  exit: exit(),
  more: extensionField(
    z
      .literal(true)
      .optional()
      .describe(
        "Where `spooled` was requested: there are later events, so read again after those before `nextSeq`. `exited` and `closed` tell of the events before it",
      ),
  ),
  exitSeq: extensionField(
    Seq().optional().describe("Where `spooled` was requested: number of the exit, if `exited`"),
  ),
}));
export type ReadResult = Infer<typeof ReadResult>;

const controlMethod = methodsWith({
  family: "exec",
  right: "control",
  answers: "promptly",
  overtakes: "always",
});

export const processMethods = {
  "process/start": method({
    doc: "Starts a process in its own process group, from an argument vector.",
    family: "exec",
    right: "start",
    lost: { repeatWith: "idempotencyKey", otherwise: "unknown" },
    answers: "promptly",
    extensionParams: [
      "terminalSize",
      "followScreen",
      "specKind",
      "timeoutMs",
      "closeOnExit",
      "idempotencyKey",
      "tellPid",
      "tellEnforced",
      "label",
      "limits",
      "contain",
      "keep",
      "spool",
      "secrets",
    ],
    ordered: "processId",
    params: ProcessStart,
    result: () => ({
      processId: ProcessId(),
      sandboxType: SandboxType().optional(),
      pid: extensionField(
        z.number().int().optional().describe("Number of the process, where `tellPid` asked for it"),
      ),
      enforced: extensionField(
        Enforced()
          .optional()
          .describe("What the sandbox enforces, where `tellEnforced` asked for it; absent without a sandbox"),
      ),
    }),
  }),
  "process/read": method({
    doc: "Returns retained output after a sequence number, and waits for new events if requested.",
    family: "exec",
    right: "follow",
    lost: "repeat",
    answers: { promptlyUnless: "waitMs" },
    extensionParams: ["spooled"],
    ordered: "processId",
    overtakes: "always",
    params: ProcessRead,
    result: ReadResult,
  }),
  "process/write": controlMethod({
    doc: "Writes to a terminal or a piped stdin. A `writeId` seen before is accepted and writes nothing.",
    lost: { repeatWith: "writeId", otherwise: "unknown" },
    answers: "eventually",
    ordered: "processId",
    overtakes: "urgentInput",
    params: () => ({
      processId: ProcessId(),
      chunk: Base64(),
      writeId: z
        .string()
        .optional()
        .describe("Must not be empty. Without it, a failed write is an error. Codex requires it"),
    }),
    result: () => ({
      status: z.enum(["accepted", "unknownProcess", "stdinClosed", "starting"]),
      accepted: z.literal(true).optional().describe("Only in answers to writes without a `writeId`"),
    }),
  }),
  "process/signal": controlMethod({
    doc: "Sends a signal to the process group. Unknown and ended processes are not an error.",
    lost: "unknown",
    lane: "control",
    extensionParams: ["signal"],
    ordered: "processId",
    params: () => ({
      processId: ProcessId(),
      signal: SignalName().describe("A Codex server knows only `interrupt`, which is SIGINT"),
    }),
    result: Empty,
  }),
  "process/terminate": controlMethod({
    doc: "Kills the process group or, with a mode, ends everything that belongs to the process. `running` says whether the process had not exited yet.",
    lost: "repeat",
    lane: "control",
    extensionParams: ["mode", "timeoutMs"],
    ordered: "processId",
    params: () => ({
      processId: ProcessId(),
      mode: optional(z.enum(["now", "graceful"])).describe(
        "`now` kills at once, `graceful` sends SIGTERM first and kills what is left after `timeoutMs`; both reach everything that belongs to the process, also what an exited one has left on its output. Default, as from Codex: the process group is killed at once",
      ),
      timeoutMs: optional(Unsigned()).describe("Default: 2000"),
    }),
    result: () => ({ running: z.boolean() }),
  }),
};

export const processNotifications = {
  "process/output": notification({
    doc: "A piece of output. Output can still follow `process/exited`.",
    from: "server",
    params: () => ({ processId: ProcessId(), seq: Seq(), stream: OutputStream(), chunk: Base64() }),
  }),
  "process/exited": notification({
    doc: "The process ended. An exit code of 128 + n means that signal n ended it.",
    from: "server",
    params: () => ({
      processId: ProcessId(),
      seq: Seq(),
      exitCode: z.number().int(),
      sandboxDenied: z.boolean().optional(),
      exit: exit(),
    }),
  }),
  "process/closed": notification({
    doc: "The process and its output have ended. This is the last event of a process.",
    from: "server",
    params: () => ({ processId: ProcessId(), seq: Seq() }),
  }),
};

import { checkDuration } from "../../base/duration.ts";
import { UsageError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { checkText } from "../../base/system-text.ts";
import type { Params } from "../../protocol/index.ts";
import type { ProcessLimits } from "../../protocol/process.ts";
import { unsupported } from "../session/unsupported.ts";
import type { ClientSession } from "../session/session.ts";

/** How a process is started. */
export interface StartOptions {
  /** Absolute. The server's own directory unless told. */
  readonly cwd?: string;
  /** Set on top of what is inherited. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * What the process gets of the server's environment: all but names that look like secrets (`*KEY*`, `*SECRET*`, `*TOKEN*`), which is the default, the
   * few that every program needs, or nothing.
   */
  readonly inheritEnv?: "all" | "core" | "none";
  /** `pipe` gives the process a stdin to `write` to; otherwise it reads nothing. */
  readonly stdin?: "pipe" | "none";
  /** What the program sees as its own name. */
  readonly arg0?: string;
  /** Kills the process. */
  readonly signal?: AbortSignal;
  /** Names the process in this session; made up unless told. */
  readonly processId?: string;
  // The rest needs a server that has it; a Codex server does not.
  /** Ends the process after this long, and says so in its exit report. Infinity is never. */
  readonly timeoutMs?: number;
  /** Ends the output with the process, although a background child may hold it open. */
  readonly closeOnExit?: boolean;
  /** For people; `Host.processes` shows it. */
  readonly label?: string;
  /** What the process, and each that it starts, may use. */
  readonly limits?: ProcessLimits;
  /** Keeps all that the process starts in a control group of its own, so that nothing of it outlives its end. */
  readonly contain?: boolean;
  /** `prepared` when a policy of the caller has approved this very request. */
  readonly specKind?: "direct" | "prepared";
}

const EXTENSION_FIELDS = ["timeoutMs", "closeOnExit", "label", "limits", "contain", "specKind"] as const;

/** The same on a terminal. */
export interface TerminalOptions extends Omit<StartOptions, "stdin"> {
  /** 80 unless told. */
  readonly cols?: number;
  /** 24 unless told. */
  readonly rows?: number;
}

/** What `process/start` takes. */
export type StartParams = Params<"process/start">;

/** A program and its arguments; a shell is spelled `["sh", "-c", line]`. */
export type Argv = readonly [program: string, ...args: string[]];

/** Spells a start the way of the wire. */
export function startParams(
  session: ClientSession,
  argv: readonly string[],
  options: StartOptions,
  tty: boolean,
): StartParams {
  options.signal?.throwIfAborted();
  if (!Array.isArray(argv))
    throw new UsageError(
      `argv must be an array of a program and its arguments, not ${typeof argv === "string" ? "a string" : String(argv)}; ` +
        'a shell runs a command line: ["sh", "-c", line]',
    );
  if (argv.length === 0) throw new UsageError("argv is empty: it needs at least a program");
  const { cwd, arg0 } = options;
  if (cwd !== undefined && !cwd.startsWith("/"))
    throw new UsageError(`cwd must be an absolute path, not ${cwd}`);
  for (const argument of argv) checkText("argv", argument);
  if (arg0 !== undefined) checkText("arg0", arg0);
  if (cwd !== undefined) checkText("cwd", cwd);
  const variables = Object.entries(options.env ?? {});
  for (const [name, value] of variables) {
    checkText("the name of a variable in env", name);
    if (value !== undefined) checkText(`${name} in env`, value);
    else if (/[*?]/.test(name)) throw new UsageError(`${name} in env cannot be removed: it is a wildcard`);
  }
  return {
    processId: options.processId ?? crypto.randomUUID(),
    argv: [...argv],
    cwd: cwd === undefined ? (session.environment?.cwd ?? "file:///") : uriFromPath(cwd),
    env: Object.fromEntries(
      variables.filter((variable): variable is [string, string] => variable[1] !== undefined),
    ),
    envPolicy: {
      inherit: options.inheritEnv ?? "all",
      ignoreDefaultExcludes: false,
      exclude: variables.filter(([, value]) => value === undefined).map(([name]) => name),
      set: {},
      includeOnly: [],
    },
    tty,
    ...(arg0 === undefined ? {} : { arg0 }),
    pipeStdin: options.stdin === "pipe",
    ...extensionFields(session, options),
  };
}

function extensionFields(session: ClientSession, options: StartOptions): Partial<StartParams> {
  const fields: Record<string, unknown> = {};
  for (const field of EXTENSION_FIELDS) {
    // Never is what a server does unasked.
    if (options[field] === undefined || options[field] === Number.POSITIVE_INFINITY) continue;
    if (field === "timeoutMs") checkDuration(field, options[field]);
    if (!session.supports(`process/start.${field}`)) throw unsupported(`${field} in process/start`);
    fields[field] = options[field];
  }
  return fields;
}

/** The size of a new terminal: a field where the server has it, and otherwise a shell that sets it before the program starts. */
export function withTerminalSize(
  session: ClientSession,
  params: StartParams,
  { cols, rows }: TerminalOptions,
): StartParams {
  if (cols === undefined && rows === undefined) return params;
  const size = { cols: cols ?? 80, rows: rows ?? 24 };
  if (session.supports("process/start.terminalSize")) return { ...params, terminalSize: size };
  const script = 'stty cols "$1" rows "$2" && shift 2 && exec "$@"';
  return {
    ...params,
    argv: ["/bin/sh", "-c", script, "sh", String(size.cols), String(size.rows), ...params.argv],
  };
}

/**
 * Ends the input after `length` bytes on a server that cannot close a stdin: a program in between passes on that many and leaves.
 */
export function withInputLength(params: StartParams, length: number): StartParams {
  const script = 'length=$1; shift; head -c "$length" | exec "$@"';
  return { ...params, argv: ["/bin/sh", "-c", script, "sh", String(length), ...params.argv] };
}

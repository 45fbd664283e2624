import { randomId } from "../../base/random-id.ts";
import { checkDuration } from "../../base/duration.ts";
import { UsageError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { checkText, checkVariables } from "../../base/system-text.ts";
import type { Params } from "../../protocol/index.ts";
import type { Keep, ProcessLimits } from "../../protocol/process.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import { type NetworkAccess, networkParams } from "../routes/network-access.ts";
import { sandboxFor } from "../calls/sandbox.ts";
import { unsupported } from "../calls/unsupported.ts";
import type { ClientSession } from "../session/session.ts";

/** How to start a process. */
export interface StartOptions {
  /** Absolute. Default: the server's working directory. */
  readonly cwd?: string;
  /** Set on top of the inherited environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * What to inherit from the server's environment: everything except names that look like secrets (`*KEY*`, `*SECRET*`,
   * `*TOKEN*`), the default; the few variables that every program needs; or nothing.
   */
  readonly inheritEnv?: "all" | "core" | "none";
  /** `pipe` gives the process a stdin to `write` to; otherwise stdin is empty. */
  readonly stdin?: "pipe" | "none";
  /** Name that the program sees as its own. */
  readonly arg0?: string;
  /** Kills the process. */
  readonly signal?: AbortSignal;
  /** Id of the process in this session. Default: generated. */
  readonly processId?: string;
  /**
   * Confines the process, and everything it starts, on a server that can do it; any other refuses the start. Relative
   * paths in it start at `cwd`. Default: no sandbox.
   */
  readonly sandbox?: Sandbox;
  /**
   * What the process may reach through a proxy of its own. With `sandbox` it can reach nothing else; without it, the
   * proxy is an offer to programs that honour variables such as HTTP_PROXY.
   */
  readonly network?: NetworkAccess;
  // The options below need a server that supports them; a Codex server does not.
  /** Ends the process after this time, and sets `timedOut` in its exit report. Infinity means never. */
  readonly timeoutMs?: number;
  /** Ends the output with the process, even if a background child keeps it open. */
  readonly closeOnExit?: boolean;
  /** Human-readable; shown by `Host.processes`. */
  readonly label?: string;
  /** Resource limits of the process and of each process it starts. */
  readonly limits?: ProcessLimits;
  /** Keeps everything that the process starts in a control group of its own, so that nothing outlives it. */
  readonly contain?: boolean;
  /** `prepared` if the caller's policy has approved this request. */
  readonly specKind?: "direct" | "prepared";
  /**
   * Keeps the process when its session ends: it belongs to the server, under this name, and neither `Host.close` nor
   * disposing ends it. `Host.attachKept` finds it again. A name in use is an error with the code ALREADY_EXISTS;
   * `replace` takes the place of an ended process.
   */
  readonly keep?: string | Keep;
}

const EXTENSION_FIELDS = ["timeoutMs", "closeOnExit", "label", "limits", "contain", "specKind"] as const;

/** How to start a process on a terminal. */
export interface TerminalOptions extends Omit<StartOptions, "stdin"> {
  /** Default: 80. */
  readonly cols?: number;
  /** Default: 24. */
  readonly rows?: number;
  /**
   * Lets the server follow the screen from the start, so that a snapshot of it is right whatever was evicted. Ignored by
   * a server that cannot do it.
   */
  readonly followScreen?: boolean;
}

/** Parameters of `process/start`. */
export type StartParams = Params<"process/start">;

/** A program and its arguments; for a shell use `["sh", "-c", line]`. */
export type Argv = readonly [program: string, ...args: string[]];

/** Converts a start to the parameters of the wire. */
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
  checkVariables(options.env ?? {});
  for (const [name, value] of variables)
    if (value === undefined && /[*?]/.test(name))
      throw new UsageError(`${name} in env cannot be removed: it is a wildcard`);
  const directory = cwd === undefined ? (session.environment?.cwd ?? "file:///") : uriFromPath(cwd);
  const processId = options.processId ?? randomId();
  const decide = options.network?.decide;
  const params: StartParams = {
    processId,
    argv: [...argv],
    cwd: directory,
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
    ...(options.sandbox === undefined ? {} : { sandbox: sandboxFor(session, options.sandbox, directory) }),
    ...(options.network === undefined ? {} : networkParams(session, options.network)),
    ...extensionFields(session, options),
    ...(options.keep === undefined ? {} : { keep: keepParam(session, options.keep) }),
  };
  if (decide !== undefined) session.serverRequests.decide(processId, decide);
  return params;
}

function keepParam(session: ClientSession, keep: string | Keep): Keep {
  if (!session.supports("process/start.keep")) throw unsupported("keep in process/start");
  return typeof keep === "string" ? { name: keep } : keep;
}

function extensionFields(session: ClientSession, options: StartOptions): Partial<StartParams> {
  const fields: Record<string, unknown> = {};
  for (const field of EXTENSION_FIELDS) {
    // The server's default is no limit.
    if (options[field] === undefined || options[field] === Number.POSITIVE_INFINITY) continue;
    if (field === "timeoutMs") checkDuration(field, options[field]);
    if (!session.supports(`process/start.${field}`)) throw unsupported(`${field} in process/start`);
    fields[field] = options[field];
  }
  return fields;
}

/**
 * Sets the size of a new terminal: with a field if the server has it, otherwise with a shell that sets it before the
 * program starts.
 */
export function withTerminalSize(
  session: ClientSession,
  given: StartParams,
  { cols, rows, followScreen = false }: TerminalOptions,
): StartParams {
  const follows = followScreen && session.supports("process/start.followScreen");
  const params = follows ? { ...given, followScreen } : given;
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
 * Ends the input after `length` bytes on a server that cannot close stdin: an intermediate program passes on that many
 * and exits.
 */
export function argvWithInputLength(argv: readonly string[], length: number): string[] {
  const script = 'length=$1; shift; head -c "$length" | exec "$@"';
  return ["/bin/sh", "-c", script, "sh", String(length), ...argv];
}

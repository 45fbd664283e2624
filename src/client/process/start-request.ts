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
  /**
   * Ends the process: its group gets SIGTERM, and what is left of it two seconds later is killed. A Codex server kills it
   * at once.
   */
  readonly signal?: AbortSignal;
  /** Id of the process in this session. Default: generated. */
  readonly processId?: string;
  /**
   * Confines the process, and everything it starts, on a server that can do it; any other refuses the start. Relative
   * paths in it start at `cwd`. Default: no sandbox.
   */
  readonly sandbox?: Sandbox;
  /**
   * What the process may reach through its own proxy. With `sandbox` it can reach nothing else; without it, the proxy
   * is an offer to programs that honour variables such as HTTP_PROXY.
   */
  readonly network?: NetworkAccess;
  // The options below need a server that supports them; a Codex server does not.
  /**
   * Secrets that the process uses and does not have: names of secrets of the server, or variables in `env` with the hosts
   * that they are for. It gets stand-ins, and its proxy puts the secrets into requests to their hosts. Without `network`,
   * a process whose sandbox has no network reaches these hosts, and nothing else.
   */
  readonly secrets?: readonly (string | NamedSecret)[];
  /** Ends the process after this time, and sets `timedOut` in its exit report. Infinity means never. */
  readonly timeoutMs?: number;
  /** Ends the output with the process, even if a background child keeps it open. */
  readonly closeOnExit?: boolean;
  /** Human-readable; shown by `Host.processes`. */
  readonly label?: string;
  /** Resource limits of the process and of each process it starts. */
  readonly limits?: ProcessLimits;
  /** Keeps everything that the process starts in its own control group, so that nothing outlives it. */
  readonly contain?: boolean;
  /** `prepared` if the caller's policy has approved this request. */
  readonly specKind?: "direct" | "prepared";
  /**
   * Keeps the process when its session ends: it belongs to the server, under this name, and neither `Host.close` nor
   * disposing ends it. `Host.attachKept` finds it again. A name in use is an error with the code ALREADY_EXISTS;
   * `replace` takes the place of an ended process.
   */
  readonly keep?: string | Keep;
  /**
   * Keeps the whole output on the server's disk, as far as its limits allow, so that readers miss nothing that memory
   * cannot hold. Only a durable server can. Default: for kept processes, if the server can.
   */
  readonly spool?: boolean;
}

/** A secret of a process. */
export interface NamedSecret {
  readonly name: string;
  /** Of the hosts that the server's secret is for, only these. Needed for a variable in `env`. */
  readonly hosts?: readonly string[];
}

const EXTENSION_FIELDS = [
  "timeoutMs",
  "closeOnExit",
  "label",
  "limits",
  "contain",
  "specKind",
  "spool",
] as const;

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

/** A program and its arguments: no shell is involved. */
export type Argv = readonly [program: string, ...args: string[]];

/**
 * What to run: a program and its arguments, or a line for the machine's `/bin/sh`, as it is typed there. Values do not
 * belong into a line, where they would become code: use an array, or `` host.sh`…` ``.
 */
export type Command = Argv | readonly string[] | string;

/** Converts a start to the parameters of the wire. */
export function startParams(
  session: ClientSession,
  command: Command,
  options: StartOptions,
  tty: boolean,
): StartParams {
  options.signal?.throwIfAborted();
  const argv = argvOf(command);
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
    ...(options.secrets === undefined || options.secrets.length === 0
      ? {}
      : { secrets: secretsParam(session, options.secrets) }),
    ...(options.keep === undefined ? {} : { keep: keepParam(session, options.keep) }),
  };
  if (decide !== undefined) session.serverRequests.decide(processId, decide);
  return params;
}

function argvOf(command: Command): readonly string[] {
  if (typeof command === "string") {
    if (command.trim() === "") throw new UsageError("the command line is empty");
    return ["/bin/sh", "-c", command];
  }
  if (!Array.isArray(command))
    throw new UsageError(
      `a command is a line for the shell, or an array of a program and its arguments, not ${String(command)}`,
    );
  if (command.length === 0) throw new UsageError("argv is empty: it needs at least a program");
  return command;
}

function secretsParam(session: ClientSession, secrets: NonNullable<StartOptions["secrets"]>) {
  // Any other server would ignore them, and give the process what `env` contains.
  if (!session.supports("process/start.secrets")) throw unsupported("secrets in process/start");
  return secrets.map((secret) =>
    typeof secret === "string"
      ? { name: secret }
      : { name: secret.name, ...(secret.hosts === undefined ? {} : { hosts: [...secret.hosts] }) },
  );
}

function keepParam(session: ClientSession, keep: string | Keep): Keep {
  if (!session.supports("process/start.keep")) throw unsupported("keep in process/start");
  return typeof keep === "string" ? { name: keep } : keep;
}

function extensionFields(session: ClientSession, options: StartOptions): Partial<StartParams> {
  const fields: Record<string, unknown> = {};
  for (const field of EXTENSION_FIELDS) {
    // By default, the server sets no limit.
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
  requested: StartParams,
  { cols, rows, followScreen = false }: TerminalOptions,
): StartParams {
  const follows = followScreen && session.supports("process/start.followScreen");
  const params = follows ? { ...requested, followScreen } : requested;
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

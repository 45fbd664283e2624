import { randomId } from "../../base/random-id.ts";
import { defined } from "../../base/defined.ts";
import { ExecError, ProtocolError, UsageError } from "../../base/errors.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { ListedProcess } from "../../protocol/process-extensions.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { asText } from "../calls/wire-bytes.ts";
import {
  collect,
  type Collected,
  type CollectOptions,
  feed,
  type OutputCallbacks,
} from "../process/collect.ts";
import { createFetch } from "../http/fetch.ts";
import { Files } from "../files/files.ts";
import type { LocalTrees } from "../files/trees.ts";
import { type InputSource, isInputSource } from "../process/input-source.ts";
import type { RemoteProcess } from "../process/remote-process.ts";
import type { HostEvent } from "../session/event-feed.ts";
import type { ClientSession, SessionState } from "../session/session.ts";
import type { SessionEnd } from "../calls/session-end.ts";
import { shellScript, type ShellValue } from "../process/shell-script.ts";
import { attachKept, type AttachKeptOptions, attachProcess } from "../process/attach-kept.ts";
import { endProcess, startProcess } from "../process/start.ts";
import {
  type Command,
  type StartOptions,
  startParams,
  type TerminalOptions,
  argvWithInputLength,
  withTerminalSize,
} from "../process/start-request.ts";
import { needs, unsupported } from "../calls/unsupported.ts";
import { listenOnPath, listenOnPort, type ListenOptions, type TcpListener } from "../tcp/tcp-listener.ts";
import { openTcpStream, openUnixStream, type TcpOptions, type TcpStream } from "../tcp/tcp-stream.ts";
import { abortable } from "../../base/deadlines.ts";

/** How to run a command to its end. */
export interface RunOptions extends Omit<StartOptions, "stdin">, CollectOptions, OutputCallbacks {
  /** Written to stdin, which is then closed. */
  readonly input?: string | Uint8Array | InputSource;
  /** Rejects with a CommandError unless the exit status is 0. */
  readonly check?: boolean;
}

/** How to run a script. */
export interface ShellOptions extends RunOptions {
  /** A shell that takes `-c` and has POSIX parameters. Default: `/bin/sh`. */
  readonly shell?: string;
}

/** More than any server needs: it lists thousands of processes in one part. */
const MAX_LIST_PARTS = 1_024;

/** Which processes to list, and what about them. */
export interface ListOptions {
  readonly scope?: "session" | "kept" | "server";
  /** Also return their resource usage. */
  readonly usage?: boolean;
}

/** Output and exit of a finished command. */
export type RunResult = Collected;

/** A command run with `check` ended with a status other than 0. */
export class CommandError extends ExecError {
  readonly argv: readonly string[];
  readonly result: RunResult;

  constructor(argv: readonly string[], result: RunResult) {
    const said = result.stderr.trim().split("\n").at(-1) ?? "";
    const denied = result.sandboxDenied ? " (its sandbox denied something)" : "";
    super(
      "COMMAND_FAILED",
      `${argv.join(" ")} ended with ${result.exitCode}${denied}${said === "" ? "" : `: ${said}`}`,
    );
    this.argv = argv;
    this.result = result;
  }
}

/** A machine for running processes, accessing files and making requests, through one session with its server. */
export class Host implements Caller, AsyncDisposable {
  readonly files: Files;
  /** Makes an HTTP request from the host's machine, with the signature of the global `fetch`. */
  readonly fetch: typeof globalThis.fetch;
  readonly #session: ClientSession;

  constructor(session: ClientSession, trees?: LocalTrees) {
    this.#session = session;
    this.files = new Files(session, {
      watches: session.supports("fs/watch") ? session.watches : undefined,
      environment: () => session.environment,
      supports: (extension) => session.supports(extension),
      trees,
    });
    this.fetch = createFetch(session, session.bodies);
  }

  /** The server's description of itself and its machine. Old servers send none. */
  get environment(): EnvironmentInfo | undefined {
    return this.#session.environment;
  }

  /**
   * The session id, assigned by the server. Anyone who knows it can resume the session while it has no connection. Empty
   * on an older server, which has no sessions to resume.
   */
  get sessionId(): string {
    return this.#session.id;
  }

  /** `recovering` while a lost connection is being replaced; requests wait meanwhile. */
  get state(): SessionState {
    return this.#session.state;
  }

  /** Resolves when the session is over. `reason` is undefined if it was closed here. */
  get closed(): Promise<SessionEnd> {
    return this.#session.closed;
  }

  /** Calls `listener` on every change of `state`, until the returned function is called. */
  onStateChange(listener: (state: SessionState) => void): () => void {
    return this.#session.onStateChange(listener);
  }

  /**
   * The events of all processes of this session from now on, each with its `processId`, until the session ends. A slow
   * reader makes no process wait: beyond 16 MiB unread the oldest events are dropped, and `lagged` says how many.
   */
  events(options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<HostEvent> {
    return this.#session.events(options);
  }

  /** True if this server has the given extension of Codex's protocol, such as `process/resize`. */
  supports(extension: string): boolean {
    return this.#session.supports(extension);
  }

  /** Sends one request of the wire protocol. */
  async request<M extends MethodName>(
    method: M,
    params: Params<M>,
    options?: RequestOptions,
  ): Promise<Result<M>> {
    return asText(await this.#session.request(method, params, options));
  }

  /** Runs a program with its arguments, or a line for the shell, to its end and returns its output. */
  async run(command: Command, options: RunOptions = {}): Promise<RunResult> {
    const { input, check = false, maxOutputBytes, onStdout, onStderr, ...rest } = options;
    const params = startParams(
      this.#session,
      command,
      { ...rest, stdin: input === undefined ? "none" : "pipe" },
      false,
    );
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    const closes = this.#session.supports("process/closeStdin");
    if (bytes !== undefined && isInputSource(bytes) && !closes)
      throw unsupported("process/closeStdin, which a stream as input needs");
    const route = this.#session.register(params.processId);
    const { signal } = options;
    const collected = collect(route, defined({ maxOutputBytes, onStdout, onStderr, signal }));
    collected.catch(() => {});
    const process = await startProcess(
      this.#session,
      bytes === undefined || closes || isInputSource(bytes)
        ? params
        : { ...params, argv: argvWithInputLength(params.argv, bytes.length) },
      signal,
      { route, asked: params },
    );
    const ended =
      bytes === undefined
        ? abortable(collected, signal)
        : feed(process, bytes, { close: closes, signal }, collected);
    const result = await ended.catch((error: unknown) => {
      // A callback, or the source of the input, has failed; an abort ends the process itself.
      if (signal?.aborted !== true) endProcess(this.#session, process);
      throw error;
    });
    if (check && result.exitCode !== 0) throw new CommandError(params.argv, result);
    return result;
  }

  /**
   * Runs a script: `` await host.sh`grep -r ${pattern} ${files}` ``. Values are passed to the shell as arguments and
   * never become code, quoted or not; a list stands for its words. The shell is `/bin/sh`, without a login profile,
   * unless `host.sh({ shell })` names another. Options come first: `` await host.sh({ cwd: "/repo", check: true
   * })`make ${target}` ``.
   */
  sh(strings: TemplateStringsArray, ...values: readonly ShellValue[]): Promise<RunResult>;
  sh(
    options: ShellOptions,
  ): (strings: TemplateStringsArray, ...values: readonly ShellValue[]) => Promise<RunResult>;
  sh(first: TemplateStringsArray | ShellOptions, ...values: readonly ShellValue[]) {
    if (isTemplate(first)) return this.#script({}, first, values);
    return (strings: TemplateStringsArray, ...later: readonly ShellValue[]) =>
      this.#script(first, strings, later);
  }

  async #script(
    { shell = "/bin/sh", ...options }: ShellOptions,
    strings: TemplateStringsArray,
    values: readonly ShellValue[],
  ): Promise<RunResult> {
    const { script, words } = shellScript(strings, values);
    return await this.run([shell, "-c", script, "sh", ...words], options);
  }

  /** Starts a process and returns while it runs. */
  async start(command: Command, options: StartOptions = {}): Promise<RemoteProcess> {
    const params = startParams(this.#session, command, options, false);
    // Awaited, so that the stack of its errors names the caller.
    return await startProcess(this.#session, params, options.signal);
  }

  /** Starts a process on its own terminal. */
  async terminal(command: Command, options: TerminalOptions = {}): Promise<RemoteProcess> {
    const asked = startParams(this.#session, command, options, true);
    const params = withTerminalSize(this.#session, asked, options);
    return await startProcess(this.#session, params, options.signal, { asked });
  }

  /**
   * Lists this session's processes, running and recently ended; with the scope `kept`, the kept processes of this
   * principal; with the scope `server`, those and the processes of all sessions, if the server allows it. With `usage`,
   * running ones include their CPU time and memory, if the server reports them.
   */
  async processes({ scope, usage = false }: ListOptions = {}): Promise<ListedProcess[]> {
    needs(this, "process/list");
    if (scope === "kept" && !this.supports("process/start.keep")) throw unsupported("kept processes");
    const wantsUsage = usage && this.supports("process/list.usage");
    const params = { ...(scope === undefined ? {} : { scope }), ...(wantsUsage ? { usage } : {}) };
    const inParts = this.supports("process/list.after");
    const all: ListedProcess[] = [];
    for (let parts = 0, more = true; more; parts += 1) {
      if (parts === MAX_LIST_PARTS) throw new ProtocolError("process/list: the list never ends");
      const { startedAtMs, pid } = all.at(-1) ?? { startedAtMs: 0, pid: 0 };
      const answer = await this.#session.request("process/list", {
        ...params,
        ...(inParts ? { after: { startedAtMs, pid } } : {}),
      });
      for (const process of answer.processes) all.push(process);
      more = answer.more === true;
    }
    return all;
  }

  /** Follows a process that another client of a resumed session has started. */
  async adopt(processId: string, { tty = false }: { tty?: boolean } = {}): Promise<RemoteProcess> {
    return await attachProcess(this.#session, processId, async (route) => {
      await route.catchUp();
      return { tty };
    });
  }

  /**
   * Follows a process of another session; its id is the permission to do so. It can be read and waited for, but not
   * written to or ended, and it does not wait for this reader: output that the reader is too slow for is a gap.
   */
  async attach(sessionId: string, processId: string): Promise<RemoteProcess> {
    needs(this, "process/attach");
    const params = { sessionId, processId, fromSeq: 1 };
    return await attachProcess(this.#session, randomId(), (route) =>
      this.#session.request("process/attach", { ...params, as: route.processId }),
    );
  }

  /**
   * Attaches to a kept process, running or ended. With the mode `control` it can be written to, resized, signalled and
   * ended; the default `follow` only reads and waits. Its output starts with the event `fromSeq`, by default the oldest
   * that the server still has. The process does not wait for this reader: output that the reader is too slow for is a
   * gap.
   */
  async attachKept(name: string, options: AttachKeptOptions = {}): Promise<RemoteProcess> {
    return await attachKept(this.#session, name, options);
  }

  /**
   * Opens a TCP connection from the host's machine. It ends with the connection to the server, which a new one does not
   * bring back.
   */
  async connectTcp(host: string, port: number, options: TcpOptions = {}): Promise<TcpStream> {
    needs(this, "tcp/connect");
    return await openTcpStream(this.#session, { host, port }, options);
  }

  /** The same for a Unix socket of the host's machine, by its absolute path. */
  async connectUnix(path: string, options: Pick<TcpOptions, "signal"> = {}): Promise<TcpStream> {
    needs(this, "unix/connect");
    return await openUnixStream(this.#session, path, options);
  }

  /**
   * Listens on a TCP port of the host's machine; 0 picks one. `for await (const connection of listener)` yields what
   * connects there. It ends with the connection to the server, which a new one does not bring back.
   */
  async listenTcp(port: number, options: ListenOptions = {}): Promise<TcpListener> {
    needs(this, "tcp/listen");
    return await listenOnPort(this.#session, port, options);
  }

  /** The same on a new Unix socket of the host's machine, which only the server's user and root can connect to. */
  async listenUnix(path: string, options: Pick<ListenOptions, "signal"> = {}): Promise<TcpListener> {
    needs(this, "unix/listen");
    return await listenOnPath(this.#session, path, options);
  }

  /** Ends the session, kills its processes that are still running, except kept ones, and closes the connection. */
  close(): Promise<void> {
    return this.#session.close();
  }

  /**
   * Closes only the connection. The server keeps the session for a while, for a client that connects with
   * `resumeSessionId`.
   */
  detach(): Promise<void> {
    return this.#session.close({ detach: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function isTemplate(first: TemplateStringsArray | ShellOptions): first is TemplateStringsArray {
  if (typeof first === "string")
    throw new UsageError("host.sh is a tag: write host.sh`…` with backquotes, without parentheses");
  return Array.isArray(first);
}

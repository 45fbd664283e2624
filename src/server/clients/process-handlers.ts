import { isDeepStrictEqual } from "node:util";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { codeOnWire } from "../../base/error-codes.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { ForeignPathError, PathUriError } from "../../base/file-uri.ts";
import { childEnvironment, type Environment } from "../../capabilities/process/env-policy.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { type ManagedProcess, TERMINATE_GRACE_MS } from "../../capabilities/process/managed-process.ts";
import type { ResourceLimits } from "../../native/resource-limits.ts";
import type { TerminalSize } from "../../native/spawn.ts";
import { type Result, RpcCode } from "../../protocol/index.ts";
import { TERMINAL_COLUMNS, TERMINAL_ROWS } from "../../protocol/wire-limits.ts";
import type { ProcessLimits, ProcessRead, ProcessStart, SignalName } from "../../protocol/process.ts";
import { dataOf, toWire } from "../../rpc/error-wire.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import { LazyAnswer, DeferredAnswer } from "../../rpc/deferred-answer.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import { keepOf, keptKey, startKept } from "./start-kept.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { Controlled } from "../sessions/controlled.ts";
import { visible } from "./known-process.ts";
import { whenStarted } from "../sessions/when-started.ts";
import type { ServerLimits } from "../settings/limits.ts";
import { pathFromParam } from "../wire/path-param.ts";
import { networkLaunch } from "../sandbox/network-launch.ts";
import type { ProcessNetworks } from "../sandbox/process-network.ts";
import { writeInput } from "../sessions/process-input.ts";
import { waitForProcess } from "../sessions/wait-for-process.ts";
import type { StartDetails } from "../sessions/process-table.ts";
import { checkSpecKind } from "../sessions/spec-kind.ts";
import { refusal, invalidParams } from "../wire/refusals.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { writeWithoutId } from "./write-without-id.ts";
import { WriteIds } from "../sessions/write-ids.ts";

const SIGNALS: Readonly<Record<SignalName, NodeJS.Signals>> = {
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  kill: "SIGKILL",
  hangup: "SIGHUP",
  quit: "SIGQUIT",
  user1: "SIGUSR1",
  user2: "SIGUSR2",
  stop: "SIGSTOP",
  continue: "SIGCONT",
  SIGINT: "SIGINT",
  SIGTERM: "SIGTERM",
  SIGKILL: "SIGKILL",
  SIGHUP: "SIGHUP",
  SIGQUIT: "SIGQUIT",
  SIGUSR1: "SIGUSR1",
  SIGUSR2: "SIGUSR2",
  SIGSTOP: "SIGSTOP",
  SIGCONT: "SIGCONT",
};

export function processHandlers({
  environment,
  limits,
  sandboxes,
  networks,
  kept,
}: {
  environment: Environment;
  limits: ServerLimits;
  sandboxes: Sandboxes;
  networks: ProcessNetworks;
  /** Undefined if clients may keep no processes. */
  kept: KeptProcesses | undefined;
}) {
  return {
    "process/start": (client, params) => {
      const { session } = client;
      checkSpecKind(params.specKind, limits);
      const launch = networkLaunch(params);
      // Its proxy is outside every sandbox.
      if (launch !== undefined && client.rights.sandbox !== undefined) sandboxes.checkNetwork(client);
      const { request, policy } = startRequest(client, params, environment, sandboxes);
      const { processId } = params;
      const keep = keepOf(params, kept);
      const answer = () => startAnswer(client, params);
      return whenStarted(session, processId, () => {
        if (isRepeated(client, params, kept)) return answer();
        if (session.visible(processId) !== undefined)
          throw refusal("INVALID_INPUT", `process ${processId} already exists`);
        const details: StartDetails = {
          ...startDetails(params),
          observe: client.observeStart(processId),
          ...(policy === undefined ? {} : { confine: () => sandboxes.confinement(policy) }),
          ...(launch === undefined
            ? {}
            : {
                openNetwork: (prepared) =>
                  networks.open(processId, prepared, { launch, client: session.policyClient }),
              }),
        };
        const start =
          keep === undefined
            ? session.processes.start(processId, request, details)
            : startKept(client, { ...keep, params }, request, details);
        const started = start.catch((error: unknown) => {
          const fault = startError(error);
          client.reportStart("process/failed", { processId, ...reasonOf(fault) });
          throw fault;
        });
        return new DeferredAnswer(started.then(answer));
      });
    },

    "process/read": (client, params) =>
      whenStarted(client.session, params.processId, () => {
        const { process } = visible(client, params.processId);
        const waitMs = params.waitMs ?? 0;
        if (waitMs === 0 || hasNews(process, params)) return readResult(process, params);
        const news = waitForProcess(process, () => hasNews(process, params), {
          timeoutMs: waitMs,
          signal: client.signal,
        });
        return new DeferredAnswer(news.then(() => new LazyAnswer(() => readResult(process, params))));
      }),

    "process/write": ({ session }, { processId, chunk, writeId }) => {
      const bytes = decodeBase64(chunk, invalidParams);
      if (writeId === "") throw invalidParams("writeId must not be empty");
      return whenStarted(session, processId, () => {
        const entry = session.controlled(processId);
        return writeId === undefined
          ? writeWithoutId(entry, { processId, bytes }, limits)
          : write(entry, { bytes, writeId }, limits);
      });
    },

    "process/signal": ({ session }, { processId, signal }) =>
      whenStarted(session, processId, () => {
        session.controlled(processId)?.process.signal(SIGNALS[signal]);
        return {};
      }),

    "process/terminate": ({ session }, { processId, mode, timeoutMs }) =>
      whenStarted(session, processId, () => {
        const process = session.controlled(processId)?.process;
        if (process === undefined) return { running: false };
        const running = process.state.exitCode === undefined;
        if (mode === "graceful") process.terminate(timeoutMs ?? TERMINATE_GRACE_MS, "client");
        // A Codex client, which sends no mode, relies on daemons surviving.
        else process.kill(mode === "now" ? "family" : "group");
        return { running };
      }),
  } satisfies Handlers<ClientConnection>;
}

/** The answer to a start, which follows its report. */
function startAnswer(client: ClientConnection, params: ProcessStart): Result<"process/start"> {
  const { processId, tellPid, tellEnforced } = params;
  const entry = client.session.visible(processId);
  const enforced = entry?.enforced;
  if (entry !== undefined) client.reportStart("process/started", { processId, pid: entry.process.pid });
  return {
    processId,
    sandboxType: enforced === undefined ? "none" : "linuxSeccomp",
    ...(tellPid === true && entry !== undefined ? { pid: entry.process.pid } : {}),
    ...(tellEnforced === true && enforced !== undefined ? { enforced } : {}),
  };
}

/** Why a start failed. Nothing of an internal fault leaves this process. */
function reasonOf(fault: unknown): { readonly message: string; readonly code?: string } {
  const { message, data } = toWire(fault) ?? { message: "process/start: internal error" };
  const code = codeOnWire(data);
  return { message, ...(code === undefined ? {} : { code }) };
}

/** Peers expect an internal error for every system error of a start. */
export function startError(error: unknown): unknown {
  return error instanceof CapabilityError
    ? new RpcError(RpcCode.internal, error.message, { data: dataOf(error), cause: error })
    : error;
}

/** True if the same client has already started the same process with the same key. */
function isRepeated(
  { session, principal }: ClientConnection,
  params: ProcessStart,
  kept: KeptProcesses | undefined,
): boolean {
  const { idempotencyKey: key } = params;
  if (typeof key !== "string") return false;
  const earlier =
    session.processes.startedWith(key) ?? kept?.of(principal)?.startedWith(keptKey(session, key));
  if (earlier === undefined) return false;
  if (isDeepStrictEqual(earlier.body, params)) return true;
  throw new RpcError(
    RpcCode.invalidRequest,
    `process/start ${params.processId}: idempotencyKey was used for another start`,
    { data: { code: "IDEMPOTENCY_CONFLICT", processId: earlier.processId } },
  );
}

function startDetails(params: ProcessStart): StartDetails {
  const { label, idempotencyKey: key } = params;
  return {
    ...(typeof label === "string" ? { label } : {}),
    ...(typeof key === "string" ? { idempotency: { key, body: params } } : {}),
  };
}

type WriteResult = Result<"process/write">;

function write(
  entry: Controlled | undefined,
  { bytes, writeId }: { bytes: Uint8Array; writeId: string },
  limits: ServerLimits,
): WriteResult | DeferredAnswer<WriteResult> {
  if (entry === undefined) return { status: "unknownProcess" };
  if (entry.process.input === undefined) return { status: "stdinClosed" };
  if (entry.writeIds?.has(writeId)) return { status: "accepted" };
  if (entry.process.input.ended) return { status: "stdinClosed" };
  // First, so that the program sees the window of the one whose input it reads.
  entry.typed?.();
  const read = writeInput(entry.process, bytes, limits);
  remember(entry, writeId);
  return read === undefined
    ? { status: "accepted" }
    : new DeferredAnswer(read.then(() => ({ status: "accepted" as const })));
}

function startRequest(
  client: ClientConnection,
  params: ProcessStart,
  environment: Environment,
  sandboxes: Sandboxes,
): { request: StartRequest; policy: SandboxPolicy | undefined } {
  refuseManagedNetwork(params);
  const refuseEmpty = (): void => {
    if (params.argv.length === 0) throw invalidParams("argv must not be empty");
  };
  // With a sandbox before its paths, without one after the directory: the order of the wire.
  if ((params.sandbox ?? undefined) !== undefined) refuseEmpty();
  const env = withMetadata(givenEnvironment(params, environment), params.metadata);
  const policy = sandboxes.policy(
    client,
    params.sandbox,
    {
      kind: "process",
      cwd: () => {
        const path = decodeCwd(params.cwd);
        // Bytes that are not text cannot be the base of anything in a policy.
        return typeof path === "string" ? path : "/";
      },
      temporaryDirectory: env.get("TMPDIR"),
    },
    { proxied: params.enforceManagedNetwork === true && (params.networkProxy ?? undefined) !== undefined },
  );
  const cwd = decodeCwd(params.cwd);
  refuseEmpty();
  const request: StartRequest = {
    argv: params.argv,
    ...(typeof params.arg0 === "string" ? { arg0: params.arg0 } : {}),
    cwd,
    env,
    stdin: params.tty ? { terminal: terminalSize(params) } : params.pipeStdin ? "pipe" : "none",
    ...(typeof params.timeoutMs === "number" ? { timeoutMs: params.timeoutMs } : {}),
    ...(params.closeOnExit === true ? { closeOnExit: true } : {}),
    // People come to a kept terminal at any time.
    ...(params.followScreen === true || (params.keep ?? undefined) !== undefined
      ? { followScreen: true }
      : {}),
    ...(params.contain === true ? { contain: true } : {}),
    ...(params.limits === undefined || params.limits === null ? {} : { limits: givenLimits(params.limits) }),
  };
  return { request, policy };
}

function givenEnvironment({ envPolicy, env }: ProcessStart, server: Environment): Map<string, string> {
  try {
    return childEnvironment(server, envPolicy ?? undefined, env);
  } catch (error) {
    if (error instanceof CapabilityError)
      throw new RpcError(RpcCode.limit, `envPolicy: ${error.message}`, {
        data: dataOf(error),
        cause: error,
      });
    throw error;
  }
}

function givenLimits(limits: ProcessLimits): ResourceLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => typeof limit === "number"));
}

function terminalSize({ terminalSize }: ProcessStart): TerminalSize {
  return {
    rows: terminalSize?.rows ?? TERMINAL_ROWS,
    columns: terminalSize?.cols ?? TERMINAL_COLUMNS,
  };
}

/** These override everything: they tell a process which conversation it belongs to. */
function withMetadata(env: Map<string, string>, metadata: ProcessStart["metadata"]): Map<string, string> {
  const { threadId, toolCallId } = metadata ?? {};
  if (typeof threadId === "string") env.set("CODEX_THREAD_ID", canonicalUuid(threadId));
  if (typeof toolCallId === "string") env.set("CODEX_TOOL_CALL_ID", toolCallId);
  return env;
}

function canonicalUuid(text: string): string {
  const digits =
    /^(?:urn:uuid:|\{)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i.exec(
      text,
    );
  if (digits === null) throw invalidParams("threadId must be a UUID");
  return digits.slice(1).join("-").toLowerCase();
}

export function decodeCwd(text: string): string | Uint8Array {
  try {
    return pathFromParam(text);
  } catch (error) {
    if (error instanceof PathUriError) throw invalidParams(error.message);
    if (error instanceof ForeignPathError)
      throw new RpcError(
        RpcCode.invalidParams,
        `cwd URI \`${error.uri}\` is not valid on this exec-server host: ${error.message}`,
      );
    throw error;
  }
}

function remember(entry: Controlled, writeId: string): void {
  entry.writeIds ??= new WriteIds();
  entry.writeIds.add(writeId);
}

/** True if there is output after `afterSeq`, or an end that the caller has not seen. */
function hasNews(process: ManagedProcess, { afterSeq }: ProcessRead): boolean {
  const { nextSeq, exitCode, closed } = process.state;
  const after = afterSeq ?? 0;
  return (
    closed || (exitCode !== undefined && after < nextSeq - 1) || process.chunksAfter(after, 0).length > 0
  );
}

/** Assembles the JSON here: base64 needs no escaping, and stringifying megabytes of it would check every character. */
function readResult(process: ManagedProcess, { afterSeq, maxBytes }: ProcessRead): JsonText {
  const limit = maxBytes ?? Number.POSITIVE_INFINITY;
  const chunks = process.chunksAfter(afterSeq ?? 0, limit);
  const { nextSeq, exitCode, report, sandboxDenied, closed } = process.state;
  const last = chunks.at(-1);
  const next = typeof maxBytes === "number" && last !== undefined ? last.seq + 1 : nextSeq;
  const items = chunks.map(
    ({ seq, stream, bytes }) => `{"seq":${seq},"stream":"${stream}","chunk":"${encodeBase64(bytes)}"}`,
  );
  return new JsonText(
    `{"chunks":[${items.join(",")}],"nextSeq":${next},"exited":${exitCode !== undefined},"exitCode":${exitCode ?? null},` +
      `"closed":${closed},"failure":null,"sandboxDenied":${sandboxDenied}${report === undefined ? "" : `,"exit":${JSON.stringify(report)}`}}`,
  );
}

/** In a sandbox, a managed network is the proxy that comes with it. */
function refuseManagedNetwork({ enforceManagedNetwork, networkProxy, sandbox }: ProcessStart): void {
  const needsProxy = enforceManagedNetwork === true && sandbox !== undefined && sandbox !== null;
  if (needsProxy && (networkProxy === undefined || networkProxy === null))
    throw invalidParams("enforceManagedNetwork needs a networkProxy: this server manages no other network");
}

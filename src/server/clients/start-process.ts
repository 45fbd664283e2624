import { isDeepStrictEqual } from "node:util";
import { codeOnWire } from "../../base/error-codes.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { childEnvironment, type Environment } from "../../capabilities/process/env-policy.ts";
import { withUtf8Locale } from "../../capabilities/process/utf8-locale.ts";
import type { Spool } from "../../capabilities/process/output/spool/spool.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { type Result, RpcCode } from "../../protocol/index.ts";
import type { Keep, ProcessStart, SpecKind } from "../../protocol/process.ts";
import { TERMINAL_COLUMNS, TERMINAL_ROWS } from "../../protocol/wire-limits.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import { dataOf, toWire } from "../../rpc/error-wire.ts";
import { redactArgv } from "../audit/redact.ts";
import type { Secrets, StartSecrets } from "../secrets/secrets.ts";
import { networkLaunch, type NetworkLaunch, secretsLaunch } from "../sandbox/network-launch.ts";
import type { ProcessNetworks } from "../sandbox/process-network.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import type { StartDetails } from "../sessions/process-table.ts";
import type { Session } from "../sessions/session.ts";
import { limitError, type ServerLimits } from "../settings/limits.ts";
import { decodePath } from "../wire/path-param.ts";
import { invalidParams, refusal } from "../wire/refusals.ts";
import type { ClientConnection } from "./client-connection.ts";
import { whenStarted } from "./known-process.ts";

type StartResult = Result<"process/start">;

/** The context of a start besides its client and its parameters. */
export interface StartOptions {
  readonly environment: Environment;
  readonly limits: ServerLimits;
  readonly sandboxes: Sandboxes;
  readonly networks: ProcessNetworks;
  readonly secrets: Secrets;
  /** Undefined if clients may keep no processes. */
  readonly kept: KeptProcesses | undefined;
  /** Undefined if output is kept in memory only. */
  readonly spool: Spool | undefined;
}

/** Starts a process once all checks are passed, in the order of the wire. */
export function startProcess(
  client: ClientConnection,
  params: ProcessStart,
  { environment, limits, sandboxes, networks, secrets, kept, spool }: StartOptions,
) {
  const { session } = client;
  const { processId, keep, label, idempotencyKey: key } = params;
  if (params.spool === true && spool === undefined)
    throw refusal(
      "UNSUPPORTED",
      "process/start: this server does not keep output on disk; it is not durable",
    );
  checkSpecKind(params.specKind, limits);
  const ownLaunch = networkLaunch(params);
  // Its proxy is outside every sandbox.
  if (ownLaunch !== undefined && client.rights.sandbox !== undefined) sandboxes.checkNetwork(client);
  const confined = startRequest(client, params, environment, sandboxes);
  const { request: plain } = confined;
  const named = params.secrets?.length
    ? secrets.forStart(params.secrets, client.rights, plain.env)
    : undefined;
  // What a client brings itself opens nothing that its policy closes.
  if (named !== undefined && named.ownHosts.length > 0) sandboxes.checkNetwork(client);
  const { launch, policy } =
    named === undefined
      ? { launch: ownLaunch, policy: confined.policy }
      : withSecrets(params, confined, named);
  const request = (params.spool ?? Boolean(keep)) ? { ...plain, ...spoolFor(client, params, spool) } : plain;
  if (keep && !kept) throw refusal("UNSUPPORTED", "process/start: this server does not keep processes");
  return whenStarted(session, processId, (): StartResult | DeferredAnswer<StartResult> => {
    if (isRepeated(client, params, kept)) return startAnswer(client, params);
    if (session.visible(processId) !== undefined)
      throw refusal("INVALID_INPUT", `process ${processId} already exists`);
    const details: StartDetails = {
      label: label ?? undefined,
      idempotency: typeof key === "string" ? { key, body: params } : undefined,
      observe: client.observeStart(processId),
      confine: policy && (() => sandboxes.confinement(policy)),
      openNetwork:
        launch &&
        (async (prepared) => {
          await named?.ready();
          return networks.open(processId, prepared, { launch, client: session.policyClient });
        }),
    };
    const start =
      keep && kept
        ? startKept(client, params, { keep, kept, request, details })
        : session.processes.start(processId, request, details);
    const started = start.catch((error: unknown) => {
      const fault = startError(error);
      client.reportStart("process/failed", { processId, ...reasonOf(fault) });
      throw fault;
    });
    return new DeferredAnswer(started.then(() => startAnswer(client, params)));
  });
}

/** Where the output of a process goes on disk, with what its files say about it. */
function spoolFor(
  { principal: owner }: ClientConnection,
  { processId, keep, argv }: ProcessStart,
  spool: Spool | undefined,
): Pick<StartRequest, "spool"> {
  if (spool === undefined) return {};
  const description = { process: keep?.name ?? processId, owner, argv: redactArgv(argv).argv };
  return { spool: spool.open({ ...description, startedAt: new Date().toISOString() }) };
}

/** The proxy through which a process uses its secrets. In a sandbox without a network, their hosts are all it reaches. */
function withSecrets(
  params: ProcessStart,
  { policy }: { policy: SandboxPolicy | undefined },
  { hosts, ownHosts, ...named }: StartSecrets,
): { launch: NetworkLaunch; policy: SandboxPolicy | undefined } {
  const reached = { ...named, hosts: [...hosts, ...ownHosts] };
  const launch = networkLaunch(params, reached);
  if (launch !== undefined) return { launch, policy };
  const isClosed = policy !== undefined && policy.network !== "enabled";
  return {
    launch: secretsLaunch(reached, { isOpen: !isClosed }),
    policy: isClosed ? { ...policy, network: "proxied" } : policy,
  };
}

/** The configuration decides which kinds may start; whether a request was approved is the caller's claim. */
export function checkSpecKind(
  kind: SpecKind | null | undefined,
  { allowDirectExec, allowPreparedExec }: ServerLimits,
): void {
  if (kind === "prepared" && !allowPreparedExec)
    throw limitError("allowPreparedExec", false, "this server does not start prepared processes");
  if (kind !== "prepared" && !allowDirectExec)
    throw limitError("allowDirectExec", false, "this server starts only prepared processes");
}

/** The answer to a start, which follows its report. */
function startAnswer(client: ClientConnection, params: ProcessStart): StartResult {
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

/** Starts a process that belongs to the server. The session controls it under the id that its client chose. */
function startKept(
  { session, principal, rights }: ClientConnection,
  { processId, terminalSize }: ProcessStart,
  start: { keep: Keep; kept: KeptProcesses; request: StartRequest; details: StartDetails },
): Promise<void> {
  const { keep, kept, request, details } = start;
  const { idempotency } = details;
  session.checkAttachments();
  const started = kept.start(principal, keep, request, {
    ...details,
    rights,
    idempotency: idempotency && { ...idempotency, key: keptKey(session, idempotency.key) },
    started: () => {
      const attached = kept.attachment(principal, keep.name, { mode: "control", connection: session });
      if (attached === undefined) return;
      if (terminalSize) attached.resize({ rows: terminalSize.rows, columns: terminalSize.cols });
      session.followAttached(processId, attached);
    },
  });
  session.startsKept(processId, started);
  return started;
}

/** Keys belong to a session, even those of kept processes. */
function keptKey({ id }: Session, key: string): string {
  return `${id} ${key}`;
}

function startRequest(
  client: ClientConnection,
  params: ProcessStart,
  environment: Environment,
  sandboxes: Sandboxes,
): { request: StartRequest; policy: SandboxPolicy | undefined } {
  const { argv, arg0, tty, pipeStdin, timeoutMs, terminalSize, sandbox, networkProxy, limits } = params;
  // In a sandbox, a managed network is the request's own proxy.
  const isManaged = params.enforceManagedNetwork === true;
  if (isManaged && sandbox && !networkProxy)
    throw invalidParams("enforceManagedNetwork needs a networkProxy: this server manages no other network");
  const refuseEmpty = (): void => {
    if (argv.length === 0) throw invalidParams("argv must not be empty");
  };
  // With a sandbox, before its paths; without one, after the directory: the order of the wire.
  if (sandbox) refuseEmpty();
  const env = environmentFor(params, environment);
  const policy = sandboxes.policy(
    client,
    sandbox,
    {
      kind: "process",
      cwd: () => {
        const path = decodeCwd(params.cwd);
        // Bytes that are not text cannot be the base of anything in a policy.
        return typeof path === "string" ? path : "/";
      },
      temporaryDirectory: env.get("TMPDIR"),
    },
    { proxied: isManaged && (networkProxy ?? undefined) !== undefined },
  );
  if (policy !== undefined && !isRequested(params, AGENT_VARIABLE)) env.delete(AGENT_VARIABLE);
  const cwd = decodeCwd(params.cwd);
  refuseEmpty();
  const terminal = {
    rows: terminalSize?.rows ?? TERMINAL_ROWS,
    columns: terminalSize?.cols ?? TERMINAL_COLUMNS,
  };
  const request: StartRequest = {
    argv,
    ...(typeof arg0 === "string" ? { arg0 } : {}),
    cwd,
    env,
    stdin: tty ? { terminal } : pipeStdin ? "pipe" : "none",
    ...(typeof timeoutMs === "number" ? { timeoutMs } : {}),
    ...(params.closeOnExit === true ? { closeOnExit: true } : {}),
    // People come to a kept terminal at any time.
    ...(params.followScreen === true || params.keep ? { followScreen: true } : {}),
    ...(params.contain === true ? { contain: true } : {}),
    ...(limits ? { limits: numbersIn(limits) } : {}),
  };
  return { request, policy };
}

/** Names the user's ssh agent, which signs for any program that can connect to it. */
const AGENT_VARIABLE = "SSH_AUTH_SOCK";

/** True if the client itself sets a variable, so that it is not only inherited. */
function isRequested({ env, envPolicy }: ProcessStart, name: string): boolean {
  return env[name] !== undefined || envPolicy?.set[name] !== undefined;
}

/**
 * The environment of a process. Metadata overrides everything: it tells the process which conversation it belongs to.
 */
function environmentFor(
  { envPolicy, env, metadata, tty, terminalSize, keep }: ProcessStart,
  environment: Environment,
): Map<string, string> {
  const { threadId, toolCallId } = metadata ?? {};
  // People type in these. The terminals of Codex clients, which set neither, get what Codex's server would pass on.
  const server = tty && (terminalSize || keep) ? withUtf8Locale(environment) : environment;
  let variables: Map<string, string>;
  try {
    variables = childEnvironment(server, envPolicy ?? undefined, env);
  } catch (error) {
    if (error instanceof CapabilityError)
      throw new RpcError(RpcCode.limit, `envPolicy: ${error.message}`, {
        data: dataOf(error),
        cause: error,
      });
    throw error;
  }
  if (typeof threadId === "string") variables.set("CODEX_THREAD_ID", canonicalUuid(threadId));
  if (typeof toolCallId === "string") variables.set("CODEX_TOOL_CALL_ID", toolCallId);
  return variables;
}

function numbersIn(limits: object): Record<string, number> {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => typeof limit === "number"));
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
  return decodePath(text, ({ uri, message }) =>
    invalidParams(`cwd URI \`${uri}\` is not valid on this exec-server host: ${message}`),
  );
}

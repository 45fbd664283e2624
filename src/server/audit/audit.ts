import { RpcError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { WireError } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { MethodName } from "../../protocol/index.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import type {
  ObservedAnswer,
  ObservedConnection,
  ObservedEnd,
  ObservedProcess,
  ObservedRequest,
  RefusedConnection,
  RequestHooks,
  ServerObserver,
} from "../settings/observer.ts";
import type { AuditOptions } from "../settings/server-options.ts";
import { answerBytes } from "./answer-bytes.ts";
import { AuditLog } from "./audit-log.ts";
import type { AuditHead } from "./chain.ts";
import { type Facts, type Members, membersOf } from "./members.ts";
import { cut, redactArgv } from "./redact.ts";
import { RefusalLines } from "./refusal-lines.ts";
import { type Rule, RULES } from "./rules.ts";
import { Tallies } from "./tallies.ts";

/** Destination of lines: a log, or the server that keeps one. */
export type AuditRecords = Pick<
  AuditLog,
  "head" | "printedHead" | "lost" | "trouble" | "isFull" | "file" | "close"
> &
  Partial<Pick<AuditLog, "onWritten">> & {
    /** Returns its number if it can be waited for. */
    add(event: string, facts: Facts, who?: Members): unknown;
  };

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
const MAX_REASON_CHARACTERS = 512;
const AUDIT_FAILED = "AUDIT_FAILED";

const NONE: Rule<unknown> = { kind: "none" };
const RULE_OF = new Map<string, Rule<unknown>>(
  Object.entries(RULES as Readonly<Record<MethodName, Rule<unknown>>>).filter(
    ([, { kind }]) => kind !== "none",
  ),
);

/** Records what the clients of a server do. */
export class Audit implements ServerObserver {
  readonly #log: AuditRecords;
  readonly #tallies: Tallies;
  readonly #refusals: RefusalLines;
  readonly #refuses: boolean;
  /** Numbers of requests that have a line, for the line of their failure. */
  readonly #numbers = new WeakMap<ObservedRequest, number>();
  readonly #starts = new PendingStarts();
  /** Members that all lines of a connection share. */
  readonly #who = new WeakMap<ObservedConnection, Members>();
  /** Facts of requests that get their line with their answer. */
  readonly #reads = new WeakMap<ObservedRequest, object>();
  /** What an answer adds to a tally. */
  readonly #counted = new WeakMap<ObservedRequest, readonly [string, string]>();
  #requests = 0;

  constructor(log: AuditRecords, { onFailure = "refuse" }: Pick<AuditOptions, "onFailure"> = {}) {
    this.#log = log;
    this.#refuses = onFailure === "refuse";
    const add = log.add.bind(log);
    this.#tallies = new Tallies(add);
    this.#refusals = new RefusalLines(add);
  }

  /** Throws a CapabilityError if the file cannot be used. */
  static open(
    options: AuditOptions,
    { logger = silentLogger, version }: { logger?: Logger; version?: string | undefined } = {},
  ): Audit {
    const { file, maxBytes = DEFAULT_MAX_BYTES } = options;
    return new Audit(new AuditLog({ file, maxBytes, logger, version }), options);
  }

  /** Adds a line that another program has made of what happens there. Returns its number; see `onWritten`. */
  relay(event: string, facts: object, who: Members): number {
    const line = this.#log.add(event, facts, who);
    return typeof line === "number" ? line : 0;
  }

  /** Calls back with the number of the last line that is in the file, each time lines have been written. */
  onWritten(written: (line: number) => void): void {
    this.#log.onWritten?.(written);
  }

  /** The last line that was written. */
  get head(): AuditHead {
    return this.#log.head;
  }

  /** The last head that is in the server's log. */
  get printedHead(): AuditHead | undefined {
    return this.#log.printedHead;
  }

  /** Lines that are lost for good. */
  get lost(): number {
    return this.#log.lost;
  }

  /** Whether lines currently cannot be written. */
  get isFailing(): boolean {
    return this.#log.trouble !== undefined || this.#log.isFull;
  }

  /** Whether requests are refused because of that. */
  get isRefusing(): boolean {
    return this.#refuses && this.isFailing;
  }

  /** Undefined if another program writes it. */
  get file(): string | undefined {
    return this.#log.file;
  }

  /** Writes what waits, and ends. */
  async close(): Promise<void> {
    this.#refusals.close();
    this.#tallies.close();
    await this.#log.close();
  }

  connected(connection: ObservedConnection): void {
    this.#add(connection, "connect", { token: connection.tokenName, from: connection.from });
  }

  disconnected(connection: ObservedConnection, reason: string | undefined): void {
    this.#tallies.leave(connection);
    const { receivedBytes, sentBytes } = connection;
    this.#add(connection, "disconnect", {
      reason: reason === undefined ? undefined : cut(reason, MAX_REASON_CHARACTERS),
      receivedBytes,
      sentBytes,
    });
  }

  refused(refusal: RefusedConnection): void {
    this.#refusals.add(refusal);
  }

  hooksFor(method: string): RequestHooks | undefined {
    return RULE_OF.has(method) ? this : undefined;
  }

  veto({ method }: ObservedRequest): RpcError | undefined {
    if (!this.isRefusing) return undefined;
    const rule = RULE_OF.get(method);
    if (rule === undefined || rule.kind === "end" || ("always" in rule && rule.always)) return undefined;
    return new RpcError(
      RpcCode.internal,
      `${method}: refused, because the server's audit log cannot be written`,
      { data: { code: AUDIT_FAILED } },
    );
  }

  requested(request: ObservedRequest, params: unknown, attachment: Attachment | undefined): void {
    const rule = RULE_OF.get(request.method);
    switch (rule?.kind) {
      case undefined:
      case "none":
        return;
      case "line":
        this.#requests += 1;
        this.#numbers.set(request, this.#requests);
        this.#add(request.connection, rule.event, {
          request: this.#requests,
          ...rule.facts(params, attachment),
        });
        return;
      case "start":
        this.#starts.add(request, rule, params);
        return;
      case "read":
        this.#reads.set(request, rule.facts(params));
        return;
      case "tally":
        if (rule.bytes === undefined) this.#counted.set(request, rule.of(params));
        else
          this.#tallies.add(request.connection, rule.event, rule.of(params), rule.bytes(params, attachment));
        return;
      case "end":
        this.#tallies.end(request.connection, rule.of(params));
    }
  }

  denied({ connection, method }: ObservedRequest, params: unknown, { message }: WireError): void {
    const facts = factsOf(RULE_OF.get(method) ?? NONE, params);
    const reason = cut(message, MAX_REASON_CHARACTERS);
    // `method` of an HTTP request is a fact too.
    this.#add(connection, "denied", { ...facts, method, reason });
  }

  answered(request: ObservedRequest, answer: ObservedAnswer): void {
    const { connection, method } = request;
    if (answer.error !== undefined) {
      this.#failed(request, answer.error);
      return;
    }
    const rule = RULE_OF.get(method);
    // A start that was only repeated has started nothing.
    if (rule?.kind === "start") this.#starts.take(request);
    else if (rule?.kind === "read")
      this.#add(connection, rule.event, {
        ...this.#reads.get(request),
        session: method === "initialize" ? connection.session : undefined,
        bytes: rule.hasContents ? answerBytes(answer.result) : undefined,
      });
    else if (rule?.kind === "tally" && rule.bytes === undefined) {
      const counted = this.#counted.get(request);
      if (counted !== undefined)
        this.#tallies.add(connection, rule.event, counted, answerBytes(answer.result) ?? 0);
    }
  }

  processStarted({ connection, processId, pid, isConfined, argv }: ObservedProcess): void {
    const start = this.#starts.started(connection, processId);
    this.#add(connection, "start", () => {
      const facts = start === undefined ? redactArgv(argv) : start.rule.facts(start.params);
      return `,"process":${quoted(processId)},"pid":${pid},"sandbox":${isConfined}${membersOf(facts)}`;
    });
  }

  processEnded(process: ObservedProcess, end: ObservedEnd): void {
    const { connection, processId, pid, startedAtMs } = process;
    this.#tallies.end(connection, ["process", processId]);
    this.#add(connection, "ended", () => {
      const { exitCode, signal, outputBytes, endedAtMs } = end;
      const code = exitCode === undefined ? "" : `,"exitCode":${exitCode}`;
      const by = signal === undefined ? "" : `,"signal":${quoted(signal)}`;
      const afterMs = Math.round(endedAtMs - startedAtMs);
      return `,"process":${quoted(processId)},"pid":${pid}${code}${by},"outputBytes":${outputBytes},"afterMs":${afterMs}`;
    });
  }

  /** Leaves the message out, which may repeat what the client sent. */
  #failed(request: ObservedRequest, { code, data }: WireError): void {
    const number = this.#numbers.get(request);
    const facts = this.#reads.get(request) ?? this.#starts.take(request);
    const cause = (data as { code?: unknown } | undefined)?.code ?? code;
    const isStart = RULE_OF.get(request.method)?.kind === "start";
    // `denied` has reported forbidden requests, and requests refused for a full disk must not use up the remaining
    // room.
    const isReported = cause === "PERMISSION_DENIED" || cause === AUDIT_FAILED;
    if (number === undefined && facts === undefined && (!isStart || isReported)) return;
    this.#add(request.connection, "failed", {
      request: number,
      ...facts,
      method: request.method,
      code: cause,
    });
  }

  #add(connection: ObservedConnection, event: string, facts: Facts): void {
    let who = this.#who.get(connection);
    if (who === undefined) {
      const { number, principal } = connection;
      who = `,"connection":${number},"principal":${JSON.stringify(principal)}`;
      this.#who.set(connection, who);
    }
    this.#log.add(event, facts, who);
  }
}

function quoted(text: string): string {
  return JSON.stringify(cut(text));
}

/** Facts about a request, whether it is carried out or not. */
function factsOf(rule: Rule<unknown>, params: unknown): object {
  if (rule.kind === "start") return startFacts(rule, params);
  if ("facts" in rule) return rule.facts(params, undefined);
  if (!("of" in rule)) return {};
  const [kind, id] = rule.of(params);
  return { [kind]: cut(id) };
}

type StartRule = Extract<Rule<unknown>, { kind: "start" }>;

interface PendingStart {
  readonly request: ObservedRequest;
  readonly rule: StartRule;
  readonly params: unknown;
}

/** Placeholder for the id of a process whose client did not choose one. */
const NO_ID = "\0";

/** Starts that were requested, until their process runs or they fail. */
class PendingStarts {
  readonly #byProcess = new Map<string, PendingStart>();
  /** Keys of unanswered starts. Each gets an answer, and a weak map would cost more than everything else here. */
  readonly #keys = new Map<ObservedRequest, string>();

  add(request: ObservedRequest, rule: StartRule, params: unknown): void {
    const key = startKey(request.connection, rule.process?.(params));
    this.#keys.set(request, key);
    // An id that is in use belongs to the first: the second fails, or repeats it.
    if (!this.#byProcess.has(key)) this.#byProcess.set(key, { request, rule, params });
  }

  /** The request that has started this process. */
  started(connection: ObservedConnection, processId: string): PendingStart | undefined {
    const key = startKey(connection, processId);
    const known = this.#byProcess.has(key) ? key : startKey(connection, undefined);
    const start = this.#byProcess.get(known);
    this.#byProcess.delete(known);
    return start;
  }

  /** Is called with the answer to a request. Returns the facts of one that has started nothing. */
  take(request: ObservedRequest): object | undefined {
    const key = this.#keys.get(request);
    if (key === undefined) return undefined;
    this.#keys.delete(request);
    const start = this.#byProcess.get(key);
    if (start?.request !== request) return undefined;
    this.#byProcess.delete(key);
    return startFacts(start.rule, start.params);
  }
}

/** Facts about a start, whether it succeeded or not. */
function startFacts({ process, facts }: StartRule, params: unknown): object {
  return process === undefined ? facts(params) : { process: cut(process(params)), ...facts(params) };
}

function startKey({ number }: ObservedConnection, processId = NO_ID): string {
  return `${number} ${processId}`;
}

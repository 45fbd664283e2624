import { RECORD } from "../audit/last-records.ts";
import type { FrontMethod, FromUserServer, Report, LogLevel } from "./messages.ts";

/** More than any message that the program of a user's server sends. */
export const MAX_USER_MESSAGE_BYTES = 16 * 1024 * 1024;

type Fields = Readonly<Record<string, unknown>>;

const FRONT_METHODS: ReadonlySet<unknown> = new Set<FrontMethod>(["server/audit", "console/link"]);
const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(["error", "warn", "info", "debug"]);

/**
 * A message from a user's server, as JSON. Undefined if any field differs from what its kind requires: the code below
 * relies on it, and only a tampered program sends such a message.
 */
export function readUserMessage(text: string): FromUserServer | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isMessage(message) ? (message as FromUserServer) : undefined;
}

type Check = (value: unknown) => boolean;

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isBoolean: Check = (value) => typeof value === "boolean";
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every((item) => check(item));
}

/** Whether a value has these fields. Others are allowed. */
function withFields(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks);
  return (value) => isFields(value) && entries.every(([name, check]) => check(value[name]));
}

/** Whether a value has the fields of its kind. */
function ofKind(checks: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (!isFields(value) || !isText(value["kind"]) || !Object.hasOwn(checks, value["kind"])) return false;
    return checks[value["kind"]]!(value);
  };
}

/** It becomes part of an audit log line verbatim. */
const CONNECTION_AND_PRINCIPAL = /^(?:,"connection":\d{1,16},"principal":("(?:[^"\\]|\\.)*"))?$/;

function isConnectionAndPrincipal(who: unknown): boolean {
  const match = isText(who) ? CONNECTION_AND_PRINCIPAL.exec(who) : null;
  if (match === null) return false;
  const principal = match[1];
  try {
    return principal === undefined || isText(JSON.parse(principal));
  } catch {
    return false;
  }
}

const isRecord: Check = (value) => isText(value) && RECORD.test(value);

const isError = withFields({ code: isNumber, message: isText });
const isRequest = withFields({
  connection: isCount,
  session: optional(isText),
  method: isText,
  tookMs: isNumber,
  traceparent: optional(isText),
});

const REPORTS: Readonly<Record<Report["kind"], Check>> = {
  log: withFields({ level: (level) => LEVELS.has(level), message: isText, fields: optional(isFields) }),
  audit: withFields({
    event: isText,
    facts: isFields,
    who: isConnectionAndPrincipal,
    record: optional(isRecord),
  }),
  state: withFields({
    state: withFields({ sessions: isCount, runningProcesses: isCount, bufferedBytes: isCount }),
  }),
  answered: withFields({ request: isRequest, error: optional(isError) }),
  denied: withFields({ request: isRequest, error: isError }),
  started: withFields({
    connection: isCount,
    process: isCount,
    facts: withFields({ processId: isText, pid: isCount, argv: listOf(isText), isConfined: isBoolean }),
  }),
  ended: withFields({
    process: isCount,
    end: withFields({ exitCode: optional(isNumber), signal: optional(isText), outputBytes: isCount }),
  }),
};

const isMessage = ofKind({
  ready: withFields({ connections: isCount }),
  pong: withFields({ usesNetwork: isBoolean }),
  idle: isFields,
  drained: isFields,
  status: withFields({
    status: withFields({
      pid: isCount,
      version: isText,
      startedAt: isText,
      sessions: isCount,
      runningProcesses: isCount,
      isAttached: isBoolean,
    }),
  }),
  fault: withFields({ message: isText }),
  ask: withFields({ id: isCount, connection: isCount, method: (method) => FRONT_METHODS.has(method) }),
  cordon: withFields({ isCordoned: isBoolean }),
  reports: withFields({ reports: listOf(ofKind(REPORTS)) }),
} satisfies Record<FromUserServer["kind"], Check>);

import type { FromUserServer, Report, LogLevel } from "./messages.ts";

/** More than any message that the program of a user's server sends. */
export const MAX_USER_MESSAGE_BYTES = 16 * 1024 * 1024;

type Fields = Readonly<Record<string, unknown>>;

const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(["error", "warn", "info", "debug"]);

/**
 * A message of a user's server, as JSON. Undefined if anything in it is not what its kind has: what follows relies on
 * it, and a program that sends such a message is not the one that was started.
 */
export function readUserMessage(text: string): FromUserServer | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isFields(message) && isMessage(message) ? (message as unknown as FromUserServer) : undefined;
}

function isMessage(message: Fields): boolean {
  switch (message["kind"] as FromUserServer["kind"]) {
    case "ready":
    case "pong":
    case "taken":
    case "idle":
    case "drained":
      return true;
    case "fault":
      return isText(message["message"]);
    case "cordon":
      return typeof message["isCordoned"] === "boolean";
    case "reports":
      return Array.isArray(message["reports"]) && message["reports"].every(isReport);
    default:
      return false;
  }
}

function isReport(report: unknown): boolean {
  if (!isFields(report)) return false;
  const { facts } = report;
  switch (report["kind"] as Report["kind"]) {
    case "log":
      return (
        LEVELS.has(report["level"]) && isText(report["message"]) && isOptional(report["fields"], isFields)
      );
    case "audit":
      return isText(report["event"]) && isFields(facts) && isWho(report["who"]);
    case "state":
      return isState(report["state"]);
    case "answered":
      return isRequest(report["request"]) && isOptional(report["error"], isError);
    case "denied":
      return isRequest(report["request"]) && isError(report["error"]);
    case "started":
      return (
        isCount(report["connection"]) &&
        isCount(report["process"]) &&
        isFields(facts) &&
        isText(facts["processId"]) &&
        isCount(facts["pid"]) &&
        Array.isArray(facts["argv"]) &&
        facts["argv"].every(isText) &&
        typeof facts["isConfined"] === "boolean"
      );
    case "ended":
      return isCount(report["process"]) && isEnd(report["end"]);
    default:
      return false;
  }
}

function isState(state: unknown): boolean {
  return (
    isFields(state) && ["sessions", "runningProcesses", "bufferedBytes"].every((name) => isCount(state[name]))
  );
}

function isRequest(request: unknown): boolean {
  return (
    isFields(request) &&
    isCount(request["connection"]) &&
    isOptional(request["session"], isText) &&
    isText(request["method"]) &&
    typeof request["tookMs"] === "number" &&
    isOptional(request["traceparent"], isText)
  );
}

function isError(error: unknown): boolean {
  return isFields(error) && typeof error["code"] === "number" && isText(error["message"]);
}

function isEnd(end: unknown): boolean {
  return (
    isFields(end) &&
    isOptional(end["exitCode"], (code) => typeof code === "number") &&
    isOptional(end["signal"], isText) &&
    isCount(end["outputBytes"])
  );
}

/** It becomes part of a line of the audit log as it is. */
const WHO = /^(?:,"connection":\d{1,16},"principal":("(?:[^"\\]|\\.)*"))?$/;

function isWho(who: unknown): boolean {
  const found = isText(who) ? WHO.exec(who) : null;
  if (found === null) return false;
  const principal = found[1];
  try {
    return principal === undefined || isText(JSON.parse(principal));
  } catch {
    return false;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isOptional(value: unknown, isValid: (value: unknown) => boolean): boolean {
  return value === undefined || isValid(value);
}

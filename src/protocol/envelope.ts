import { shorten } from "../base/shorten.ts";
import { isWellFormed } from "../base/system-text.ts";
import { parseJson } from "./json-scan.ts";

/** An id exactly as the peer wrote it, ready to be sent back. */
export type IdText = string;

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** One message of the wire. Its members determine its kind. */
export type Message =
  | {
      readonly kind: "request";
      readonly id: IdText;
      readonly method: string;
      readonly params: unknown;
      /** Where the request belongs in a trace, as `traceparent` of W3C Trace Context. */
      readonly traceparent?: string;
    }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "response"; readonly id: IdText; readonly result: unknown }
  | { readonly kind: "error"; readonly id: IdText; readonly error: WireError };

/** Text that is not a message. The peer gets an error, and the connection continues. */
export class MalformedMessageError extends Error {}

/** An i64 has at most 19 digits, and converting millions of them takes seconds. */
const INTEGER = /^-?(?:0|[1-9][0-9]{0,18})$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const MIN_I64 = -(2n ** 63n);
const MAX_I64 = 2n ** 63n - 1n;

export function parseMessage(text: string): Message {
  const { members, idText } = parseObject(text);
  const hasMethod = Object.hasOwn(members, "method");
  if (hasMethod && idText !== undefined) {
    const traceparent = checkTrace(members["trace"]);
    return {
      kind: "request",
      id: checkId(idText),
      method: checkMethod(members["method"]),
      params: members["params"] ?? null,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
  }
  if (hasMethod)
    return {
      kind: "notification",
      method: checkMethod(members["method"]),
      params: members["params"] ?? null,
    };
  if (Object.hasOwn(members, "result"))
    return { kind: "response", id: checkId(idText), result: members["result"] };
  return { kind: "error", error: checkWireError(members["error"]), id: checkId(idText) };
}

// Messages are assembled as text: ids must not pass through a number, and results are stringified once.

export function formatRequest(id: IdText, method: string, params: unknown): string {
  return `{"id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params ?? null)}}`;
}

export function formatNotification(method: string, params: unknown): string {
  return `{"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`;
}

/** `resultJson` is JSON text. */
export function formatResponse(id: IdText, resultJson: string): string {
  return `{"id":${id},"result":${resultJson}}`;
}

export function formatError(id: IdText, error: WireError): string {
  return `{"error":${JSON.stringify(error)},"id":${id}}`;
}

function parseObject(text: string): { members: Record<string, unknown>; idText: string | undefined } {
  let value: unknown;
  let idText: string | undefined;
  try {
    const parsed = parseJson(text);
    value = parsed.value;
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new Error("expected a JSON-RPC object");
    idText = parsed.memberText ?? (Object.hasOwn(value, "id") ? "" : undefined);
    // An escape can stand for text without a UTF-8 form, which the wire refuses. Most messages have no escapes, and
    // looking for one costs far less than checking the values.
    if (text.includes("\\") && hasLoneSurrogate(value)) throw new Error("lone surrogate in a string");
  } catch (cause) {
    throw new MalformedMessageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  return { members: value as Record<string, unknown>, idText };
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return !isWellFormed(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasLoneSurrogate);
  for (const key of Object.keys(value))
    if (!isWellFormed(key) || hasLoneSurrogate((value as Record<string, unknown>)[key])) return true;
  return false;
}

function checkId(idText: string | undefined): IdText {
  if (idText === undefined) throw new MalformedMessageError("missing field `id`");
  if (idText.startsWith('"')) return idText;
  if (INTEGER.test(idText) && fitsI64(idText)) return idText === "-0" ? "0" : idText;
  throw new MalformedMessageError("data did not match any variant of untagged enum RequestId");
}

function fitsI64(digits: string): boolean {
  if (digits.length < 19) return true;
  const value = BigInt(digits);
  return value >= MIN_I64 && value <= MAX_I64;
}

function checkMethod(method: unknown): string {
  if (typeof method === "string") return method;
  throw new MalformedMessageError(`invalid type: ${describeJsonType(method)}, expected a string`);
}

/** Returns what can be logged: any text is accepted, but only a `traceparent` is one. */
function checkTrace(trace: unknown): string | undefined {
  if (trace === undefined || trace === null || Array.isArray(trace)) return undefined;
  if (typeof trace === "object") {
    const { traceparent, tracestate } = trace as Record<string, unknown>;
    for (const member of [traceparent, tracestate])
      if (member !== undefined && member !== null && typeof member !== "string")
        throw new MalformedMessageError(`invalid type: ${describeJsonType(member)}, expected a string`);
    return typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? traceparent : undefined;
  }
  const type =
    typeof trace === "string" ? `string ${JSON.stringify(shorten(trace))}` : describeJsonType(trace);
  throw new MalformedMessageError(`invalid type: ${type}, expected struct W3cTraceContext`);
}

/** Throws a MalformedMessageError unless the value is an error of the wire. */
export function checkWireError(error: unknown): WireError {
  if (error === undefined) throw new MalformedMessageError("missing field `error`");
  if (typeof error !== "object" || error === null)
    throw new MalformedMessageError(`invalid type: ${describeJsonType(error)}, expected an error object`);
  const { code, message } = error as Record<string, unknown>;
  if (code === undefined) throw new MalformedMessageError("missing field `code`");
  if (message === undefined) throw new MalformedMessageError("missing field `message`");
  if (Number.isInteger(code) && typeof message === "string") return error as WireError;
  throw new MalformedMessageError("invalid error object");
}

/** Name of a JSON value's type in Codex's error messages. */
export function describeJsonType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "sequence";
  if (typeof value === "object") return "map";
  return typeof value;
}

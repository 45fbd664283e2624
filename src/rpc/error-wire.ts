import { defined } from "../base/defined.ts";
import { codeOnWire } from "../base/error-codes.ts";
import { CapabilityError, type ErrorCode, RpcError } from "../base/errors.ts";
import type { WireError } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";

/** The error as sent to a peer; undefined for an internal fault, of which nothing may leave the process. */
export function toWire(error: unknown): WireError | undefined {
  if (error instanceof RpcError)
    return { code: error.rpcCode, message: error.message, ...defined({ data: error.data }) };
  if (error instanceof CapabilityError)
    return { code: codeOf(error), message: error.message, data: dataOf(error) };
  return undefined;
}

/** The `data` of a response that reports an error of the machine. */
export function dataOf({ code, reason, errno }: CapabilityError): object {
  return defined({ code, reason, errno });
}

/** The error of a response: by its `data.code`, or by its number if that is unambiguous. */
export function fromWire({ code, message, data }: WireError): RpcError {
  return new RpcError(code, message, { data, code: codeOnWire(data) ?? CODES.get(code) ?? "RPC_ERROR" });
}

/** True for the error that a peer sends when its end of the connection is already closed. */
export function isTransportClosed({ code, message }: WireError): boolean {
  return code === -32000 && message === "JSON-RPC transport closed";
}

/** Numbers with a single meaning. Codex's server sends no `data`. */
const CODES: ReadonlyMap<number, ErrorCode> = new Map([
  [RpcCode.notFound, "NOT_FOUND"],
  [RpcCode.methodNotFound, "UNSUPPORTED"],
  [RpcCode.invalidParams, "INVALID_INPUT"],
  [RpcCode.limit, "LIMIT_REACHED"],
]);

function codeOf(error: CapabilityError): number {
  switch (error.code) {
    case "NOT_FOUND":
      return RpcCode.notFound;
    case "PERMISSION_DENIED":
    case "INVALID_INPUT":
      return RpcCode.invalidRequest;
    default:
      return RpcCode.internal;
  }
}

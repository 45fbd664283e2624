import { CapabilityError, RpcError } from "../base/errors.ts";
import type { WireError } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";

/** The error as sent to a peer; undefined for an internal fault, of which nothing may leave the process. */
export function toWire(error: unknown): WireError | undefined {
  if (error instanceof RpcError)
    return {
      code: error.rpcCode,
      message: error.message,
      ...(error.data === undefined ? {} : { data: error.data }),
    };
  if (error instanceof CapabilityError)
    return {
      code: codeOf(error),
      message: error.message,
      data: { code: error.code, ...(error.errno === undefined ? {} : { errno: error.errno }) },
    };
  return undefined;
}

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

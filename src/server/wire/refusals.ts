import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";

/** A refusal with the number that Codex's server has for all of them, and a code that says more. */
export function refusal(
  code: "NOT_FOUND" | "INVALID_INPUT" | "ALREADY_EXISTS" | "UNSUPPORTED",
  message: string,
): RpcError {
  return new RpcError(RpcCode.invalidRequest, message, { code, data: { code } });
}

/** Parameters that match their schema but make no sense. */
export function invalidParams(message: string): RpcError {
  return new RpcError(RpcCode.invalidParams, message);
}

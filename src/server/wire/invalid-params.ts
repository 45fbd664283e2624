import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";

/** Parameters that match their schema but make no sense. */
export function invalidParams(message: string): RpcError {
  return new RpcError(RpcCode.invalidParams, message);
}

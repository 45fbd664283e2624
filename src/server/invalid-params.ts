import { RpcError } from "../base/errors.ts";
import { RpcCode } from "../protocol/errors.ts";

/** Parameters that fit the schema of their method, but not its sense. */
export function invalidParams(message: string): RpcError {
  return new RpcError(RpcCode.invalidParams, message);
}

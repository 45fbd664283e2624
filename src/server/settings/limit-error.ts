import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { WireError } from "../../protocol/envelope.ts";
import type { LimitName } from "./limits.ts";

/** Answer to a request that exceeds a configured limit. It names the limit and its value for whoever can change it. */
export function limitError(limit: LimitName, value: number | boolean, reason: string): RpcError {
  return new RpcError(RpcCode.limit, `${reason} (${limit} is ${value})`, {
    data: { code: "LIMIT_REACHED", limit, value },
    code: "LIMIT_REACHED",
  });
}

/** Answer to a message that is longer than a configured limit. */
export function messageTooLong(maxMessageBytes: number): WireError {
  const error = limitError("maxMessageBytes", maxMessageBytes, "the message is too long");
  return { code: error.rpcCode, message: error.message, data: error.data };
}

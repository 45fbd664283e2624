import { RpcError } from "../base/errors.ts";
import { RpcCode } from "../protocol/errors.ts";
import type { LimitName } from "./limits.ts";

/** Answer to a request that exceeds a configured limit. It names the limit and its value for whoever can change it. */
export function limitError(limit: LimitName, value: number | boolean, reason: string): RpcError {
  return new RpcError(RpcCode.limit, `${reason} (${limit} is ${value})`, {
    data: { code: "LIMIT_REACHED", limit, value },
    code: "LIMIT_REACHED",
  });
}

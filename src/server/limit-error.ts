import { RpcError } from "../base/errors.ts";
import { RpcCode } from "../protocol/errors.ts";
import type { LimitName } from "./limits.ts";

/** The answer to a request that a limit of this server forbids. It names the limit and its value, for the person who can change it. */
export function limitError(limit: LimitName, value: number | boolean, reason: string): RpcError {
  return new RpcError(RpcCode.limit, `${reason} (${limit} is ${value})`, { data: { limit, value } });
}

import { decodeBase64 } from "../../../base/base64.ts";
import type { RpcError } from "../../../base/errors.ts";
import type { MethodName } from "../../../protocol/index.ts";
import type { Attachment } from "../../../rpc/incoming-request.ts";
import type { JsonText, JsonParts } from "../../../rpc/json-text.ts";
import type { Confined } from "./file-helpers.ts";

export type Answer = JsonText | JsonParts;
export type AnyParams = Readonly<Record<string, unknown>>;

/** Bytes of a file, which go to the helper as they are. */
export interface Contents {
  readonly name: string;
  readonly bytes: Uint8Array;
  release(): void;
}

export function contentsOf(
  params: AnyParams,
  name: string,
  attachment: Attachment | undefined,
  refuse: (reason: string) => RpcError,
): Contents {
  const bytes = attachment?.bytes ?? decodeBase64(String(params[name]), refuse);
  return { name, bytes, release: () => attachment?.release() };
}

/** One method call inside; the policy stays outside. */
export async function callInside(
  { helper }: Confined,
  method: MethodName,
  params: AnyParams,
  body?: Contents,
): Promise<Answer> {
  try {
    const sent = { ...params, sandbox: undefined, ...(body && { [body.name]: "" }) };
    return await helper.call(
      { method, params: sent, attached: body !== undefined },
      body === undefined ? [] : [body.bytes],
    );
  } finally {
    body?.release();
  }
}

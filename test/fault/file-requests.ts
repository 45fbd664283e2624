import { toUri, fromText } from "./byte-path.ts";
import { RpcFailure, type SessionClient } from "./session-client.ts";

/** Of a path that is text. */
export const uriOf = (path: string): string => toUri(fromText(path));

export async function readFile(client: SessionClient, path: string, more: object = {}): Promise<Buffer> {
  const { dataBase64 } = await client.request<{ dataBase64: string }>("fs/readFile", {
    path: uriOf(path),
    ...more,
  });
  return Buffer.from(dataBase64, "base64");
}

export async function writeFile(
  client: SessionClient,
  path: string,
  bytes: Buffer | string,
  more: object = {},
): Promise<void> {
  const dataBase64 = Buffer.from(bytes).toString("base64");
  await client.request("fs/writeFile", { path: uriOf(path), dataBase64, ...more });
}

export interface Failure {
  code: number;
  /** The error number that the message names. */
  osError?: number;
}

/** The error that a request was answered with; throws when there was none. */
export async function failureOf(answer: Promise<unknown>): Promise<Failure> {
  const outcome = await outcomeOf(answer);
  if ("failure" in outcome) return outcome.failure;
  throw new Error(`no error, but ${JSON.stringify(outcome.result)}`);
}

/** The outcome of an operation, for comparing two servers. */
export async function outcomeOf(
  answer: Promise<unknown>,
): Promise<{ result: unknown } | { failure: Failure }> {
  try {
    return { result: (await answer) ?? null };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    const osError = /\(os error (\d+)\)$/.exec(error.message)?.[1];
    return {
      failure: { code: error.code, ...(osError === undefined ? {} : { osError: Number(osError) }) },
    };
  }
}

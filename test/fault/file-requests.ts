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
  let result: unknown;
  try {
    result = await answer;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    const osError = /\(os error (\d+)\)$/.exec(error.message)?.[1];
    return { code: error.code, ...(osError === undefined ? {} : { osError: Number(osError) }) };
  }
  throw new Error(`no error, but ${JSON.stringify(result)}`);
}

/** What an operation came to, for comparing two servers. */
export async function outcomeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return { result: (await answer) ?? null };
  } catch (error) {
    return { failure: await failureOf(Promise.reject(error as Error)) };
  }
}

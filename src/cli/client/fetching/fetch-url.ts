import { defined } from "../../shared/defined.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { type ErrorCode, ExecError, messageOf } from "../../../base/errors.ts";
import { complain } from "../print/complain.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";
import { connectTarget } from "../target/connect-target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { writeBody } from "./write-body.ts";
import { readBody } from "./request-body.ts";

/** Command line options for a request. */
interface FetchOptions extends TargetOptions {
  readonly request?: string;
  readonly header?: readonly string[];
  readonly data?: string;
  readonly output?: string;
  readonly include?: boolean;
  readonly head?: boolean;
  readonly location?: boolean;
  readonly fail?: boolean;
  readonly json?: boolean;
}

/** The same as curl's. */
const FAILED_STATUS = 22;
/** A body in a JSON document is held in memory. */
const MAX_JSON_BODY_BYTES = 64 * 1024 * 1024;

/** Makes the request and prints the answer. Resolves with the exit status. */
export async function fetchUrl(url: string, options: FetchOptions): Promise<number> {
  const request = requestOf(url, options);
  const body = options.data === undefined ? undefined : await readBody(options.data);
  const connected = await connectTarget(options);
  await using host = connected.host;
  let response: Response;
  try {
    response = await host.fetch(url, { ...request, ...defined({ body }) });
  } catch (error) {
    throw noAnswer(url, error);
  }
  const isRefused = options.fail === true && response.status >= 400;
  if (isRefused) complain(`${url}: the response has status ${response.status}`);
  try {
    if (options.json === true) await printJson(await document(url, response));
    else await printAnswer(response, options, isRefused);
  } catch (error) {
    throw error instanceof TypeError ? noAnswer(url, error) : error;
  }
  return isRefused ? FAILED_STATUS : 0;
}

function requestOf(url: string, options: FetchOptions): RequestInit {
  checkUrl(url);
  if (/^[^:\s]+:\s/.test(options.host ?? ""))
    throw usageFailure(`-H names a host; pass the header with --header '${options.host}'`);
  if (options.head === true && options.data !== undefined)
    throw usageFailure("--head sends no body; leave --data or --head out");
  const fallback = options.head === true ? "HEAD" : options.data === undefined ? "GET" : "POST";
  const method = (options.request ?? fallback).toUpperCase();
  if (options.data !== undefined && (method === "GET" || method === "HEAD"))
    throw usageFailure(`${method} sends no body; leave --data out, or use another method with --request`);
  return { method, headers: headersOf(options), redirect: options.location === true ? "follow" : "manual" };
}

function checkUrl(url: string): void {
  if (!URL.canParse(url) || !/^https?:/i.test(url))
    throw usageFailure(`'${url}' is not a URL; use one that begins with http:// or https://`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw usageFailure("a URL cannot contain a password; use --header 'Authorization: …'");
}

function headersOf({ header = [], data }: FetchOptions): Headers {
  const headers = new Headers();
  for (const line of header) {
    const colon = line.indexOf(":");
    try {
      if (colon < 1) throw new TypeError("no colon");
      headers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
    } catch {
      throw usageFailure(`'${line}' is not a header; write 'Name: value'`);
    }
  }
  // curl's default, which servers expect of a form.
  if (data !== undefined && !headers.has("content-type"))
    headers.set("content-type", "application/x-www-form-urlencoded");
  return headers;
}

async function printAnswer(response: Response, options: FetchOptions, isRefused: boolean): Promise<void> {
  if (options.include === true || options.head === true) await print(headText(response));
  if (isRefused || options.head === true) {
    await response.body?.cancel();
    return;
  }
  await writeBody(response.body ?? [], options.output);
}

function headText(response: Response): string {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${response.status} ${response.statusText}`.trimEnd(), ...lines, ""]
    .map((line) => `${printable(line)}\n`)
    .join("");
}

/** The body is text if it is UTF-8, otherwise base64. */
async function document(url: string, response: Response): Promise<object> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    if (length > MAX_JSON_BODY_BYTES)
      throw new Failure("the body is too large for a JSON document; leave --json out, or use --output");
    pieces.push(piece);
  }
  const bytes = Buffer.concat(pieces);
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text).equals(bytes);
  return {
    url,
    status: response.status,
    headers: [...response.headers].map(([name, value]) => ({ name, value })),
    ...(isText ? { body: text } : { bodyBase64: bytes.toString("base64") }),
  };
}

const REASONS: Partial<Record<ErrorCode, string>> = {
  CONNECTION_REFUSED: "connection refused; is something listening there?",
  UNKNOWN_HOST: "unknown host; the name is looked up on the server's machine",
  TIMED_OUT: "no answer in time",
};

/** The library's errors are those of `fetch`: a TypeError whose cause is the reason. */
function noAnswer(url: string, error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  const { cause = error } = error;
  const known = cause instanceof ExecError ? REASONS[cause.code] : undefined;
  return new Failure(`${url}: ${known ?? messageOf(cause)}`);
}

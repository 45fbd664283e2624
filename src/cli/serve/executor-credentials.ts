import { within } from "../../base/deadlines.ts";
import { Failure } from "../shared/failure.ts";
import type { StdinLines } from "./stdin-lines.ts";

const MAX_FRAME_BYTES = 64 * 1024;
const FIRST_FRAME_MS = 30_000;

interface ExecutorCredential {
  readonly token: string;
  readonly expiresAtMs: number;
}

/** Credentials on stdin, each a line of JSON that replaces the previous one. The server ends with the pipe. */
export async function credentialsFrom(
  stdin: StdinLines,
  environmentId: string,
): Promise<{ readonly bearer: () => string; readonly stdinEnd: Promise<void> }> {
  const next = async (): Promise<ExecutorCredential | undefined> => {
    const line = await stdin.next(MAX_FRAME_BYTES);
    if (line !== undefined) return parseFrame(line, environmentId);
    if (stdin.isEmpty) return undefined;
    throw new Failure("exec-server executor credential frame exceeds the size limit");
  };
  let current = await within(
    next(),
    FIRST_FRAME_MS,
    () => new Failure("timed out waiting for the initial exec-server executor credential"),
  );
  if (current === undefined) throw new Failure("exec-server executor credential pipe closed");
  const renew = async (): Promise<void> => {
    for (let renewed = await next(); renewed !== undefined; renewed = await next()) current = renewed;
  };
  const bearer = (): string => {
    const { token, expiresAtMs } = current!;
    if (expiresAtMs <= Date.now()) throw new Failure("exec-server executor credential is expired");
    return token;
  };
  const stdinEnd = renew();
  // It may be awaited later.
  stdinEnd.catch(() => {});
  return { bearer, stdinEnd };
}

const MEMBERS = ["environment_id", "expires_at", "token", "version"];

function parseFrame(line: string, environmentId: string): ExecutorCredential {
  let frame: Record<string, unknown>;
  try {
    frame = JSON.parse(line) as Record<string, unknown>;
    if (Object.keys(frame).sort().join() !== MEMBERS.join()) throw new TypeError();
  } catch {
    throw new Failure("invalid exec-server executor credential frame");
  }
  const { version, environment_id, token, expires_at } = frame;
  const isValid =
    version === 1 &&
    typeof environment_id === "string" &&
    typeof token === "string" &&
    /^[\x21-\x7e]+$/.test(token) &&
    Number.isSafeInteger(expires_at);
  if (!isValid) throw new Failure("invalid exec-server executor credential frame");
  if (environment_id !== environmentId)
    throw new Failure("exec-server executor credential is for a different environment");
  const expiresAtMs = (expires_at as number) * 1000;
  if (expiresAtMs <= Date.now()) throw new Failure("exec-server executor credential is expired");
  return { token, expiresAtMs };
}

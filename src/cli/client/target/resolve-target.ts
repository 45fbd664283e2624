import { readFileSync } from "node:fs";
import { describeFileError } from "../describe-file-error.ts";
import { usageFailure } from "../failure.ts";
import type { TargetOptions } from "./target-options.ts";

/** A server at a URL. */
interface UrlTarget {
  readonly kind: "url";
  readonly url: string;
  readonly token?: string;
}

/** The user's own server on this machine, which is started on demand. */
interface OwnTarget {
  readonly kind: "own";
}

/** Where a command runs. */
export type Target = UrlTarget | OwnTarget;

/** What the command line says, then what the environment says; without either, the user's own server. */
export function resolveTarget(options: TargetOptions, environment = process.env): Target {
  const url = options.url ?? nonEmpty(environment["EXEC_SERVER_URL"]);
  if (url !== undefined) return urlTarget(url, options, environment);
  if (options.tokenFile !== undefined) throw usageFailure("--token-file needs --url, whose token it holds");
  return { kind: "own" };
}

function urlTarget(url: string, { tokenFile }: TargetOptions, environment: NodeJS.ProcessEnv): UrlTarget {
  const token = tokenFile === undefined ? nonEmpty(environment["EXEC_SERVER_TOKEN"]) : readToken(tokenFile);
  return { kind: "url", url, ...(token === undefined ? {} : { token }) };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function readToken(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw usageFailure(`cannot read the token in ${path}: ${describeFileError(error)}`);
  }
}

import { readFileSync } from "node:fs";
import { connect } from "../../../client/connect/connect.ts";
import type { Host } from "../../../client/host.ts";
import { usageFailure } from "../failure.ts";
import { describeFileError } from "../describe-file-error.ts";
import { showMessage } from "./show-message.ts";
import type { TargetOptions } from "./target-options.ts";

/** A server, and what a command must know about it. */
export interface Connected {
  readonly host: Host;
  /** True for the user's own server on this machine, where a command runs as if it had been typed in the shell. */
  readonly isOwn: boolean;
}

/** Connects a command to the server that its options and the environment name. */
export async function connectTarget(options: TargetOptions): Promise<Connected> {
  const url = options.url ?? process.env["EXEC_SERVER_URL"];
  if (url === undefined || url === "")
    throw usageFailure("no server is named; give --url ws://HOST:PORT, or set EXEC_SERVER_URL");
  const token = readToken(options);
  const host = await connect(url, {
    clientName: "exec-server-cli",
    ...(token === undefined ? {} : { token }),
    ...(options.debug === true ? { onMessage: showMessage } : {}),
  });
  return { host, isOwn: false };
}

function readToken({ tokenFile }: TargetOptions): string | undefined {
  if (tokenFile === undefined) return process.env["EXEC_SERVER_TOKEN"] || undefined;
  try {
    return readFileSync(tokenFile, "utf8");
  } catch (error) {
    throw usageFailure(`cannot read the token in ${tokenFile}: ${describeFileError(error)}`);
  }
}

import { connect } from "../../../client/connect/connect.ts";
import type { Host } from "../../../client/host.ts";
import { connectOwn } from "./own-server/connect-own.ts";
import { resolveTarget, type Target } from "./resolve-target.ts";
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
  const target = resolveTarget(options);
  return { host: await open(target, options), isOwn: target.kind === "own" };
}

function open(target: Target, { debug }: TargetOptions): Promise<Host> {
  const options = {
    clientName: "exec-server-cli",
    ...(debug === true ? { onMessage: showMessage } : {}),
  };
  if (target.kind === "own") return connectOwn(options);
  const { url, token } = target;
  return connect(url, { ...options, ...(token === undefined ? {} : { token }) });
}

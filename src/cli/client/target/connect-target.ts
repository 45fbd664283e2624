import { connect } from "../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../client/host/open-host.ts";
import type { Host } from "../../../client/host/host.ts";
import { connectOwn, findOwn } from "./own-server/connect-own.ts";
import { requireExtension } from "./require-extension.ts";
import { resolveTarget } from "./resolve-target.ts";
import { showMessage } from "./show-message.ts";
import type { Target } from "./target.ts";
import type { TargetOptions } from "./target-options.ts";

/** How long a command waits for a server that is there, but does not answer. */
const ANSWER_TIMEOUT_MS = 30_000;

/** A server, and what a command must know about it. */
export interface Connected {
  readonly host: Host;
  /** True for the user's own server on this machine, where a command runs as if it had been typed in the shell. */
  readonly isOwn: boolean;
}

/** What a command needs: a session that ends with it, or a server that keeps processes. */
export type Purpose = "session" | "kept";

/** Connects a command to the server that its options and the environment name. */
export async function connectTarget(
  options: TargetOptions,
  purpose: Purpose = "session",
): Promise<Connected> {
  const target = await resolveTarget(options);
  const host = await openTarget(target, options, purpose);
  if (purpose === "kept") await check(host, target);
  return { host, isOwn: target.kind === "own" };
}

/**
 * Connects to the server that may keep processes. Undefined if that is the user's own server, which is not running and
 * so keeps nothing: it is not started only to say so.
 */
export async function findKept(options: TargetOptions): Promise<Host | undefined> {
  const target = await resolveTarget(options);
  const host =
    target.kind === "own"
      ? await findOwn(connectOptions(options))
      : await openTarget(target, options, "kept");
  if (host !== undefined) await check(host, target);
  return host;
}

async function check(host: Host, target: Target): Promise<void> {
  try {
    requireExtension(host, target, "process/start.keep");
  } catch (error) {
    await host.close();
    throw error;
  }
}

/** Connects to a server that has been found. */
export async function openTarget(
  target: Target,
  given: Pick<TargetOptions, "debug">,
  purpose: Purpose,
): Promise<Host> {
  const options = connectOptions(given);
  switch (target.kind) {
    case "own":
      return connectOwn(options);
    case "url": {
      const { url, kind: _kind, name: _name, ...more } = target;
      return connect(url, { ...options, ...more });
    }
    case "executor": {
      const { connectExecutor } = await import("./connect-executor.ts");
      return connectExecutor(target, options);
    }
    case "program": {
      const { connectProgram } = await import("./program/connect-program.ts");
      const { initializeTimeoutMs } = target;
      return connectProgram(target, {
        ...options,
        ...(initializeTimeoutMs === undefined ? {} : { initializeTimeoutMs }),
        kept: purpose === "kept",
      });
    }
  }
}

/** What every connection of a command has in common. */
export function connectOptions({ debug }: Pick<TargetOptions, "debug">): ConnectOptions {
  return {
    clientName: "exec-server-cli",
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
    ...(debug === true ? { onMessage: showMessage } : {}),
  };
}

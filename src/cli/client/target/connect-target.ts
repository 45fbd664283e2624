import { shorten } from "../../../base/shorten.ts";
import { visibleJson } from "../../../base/visible-text.ts";
import { connect } from "../../../client/host/connect.ts";
import type { Host } from "../../../client/host/host.ts";
import type { ConnectOptions } from "../../../client/host/open-host.ts";
import type { RelayTarget } from "../../../client/host/relay-url.ts";
import { defined } from "../../shared/defined.ts";
import { Failure } from "../../shared/failure.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";
import { connectOwn, findOwn } from "./own-server/connect-own.ts";
import type { Step } from "./program/bring/converse.ts";
import { resolveTarget } from "./resolve-target.ts";
import type { Target } from "./target.ts";
import type { TargetOptions } from "./target-options.ts";

/** How long a command waits for a server that does not answer. */
const ANSWER_TIMEOUT_MS = 30_000;

/** A server, and the facts that commands need about it. */
export interface Connected {
  readonly host: Host;
  /** True for the user's own server on this machine, where a command runs as if it had been typed in the shell. */
  readonly isOwn: boolean;
}

/** A command's needs: a session that ends with it, or a server that keeps processes. */
export type Purpose = "session" | "kept";

/** What is not a user's to say. */
export interface ProgramOptions extends Pick<ConnectOptions, "clientName" | "signal"> {
  /** Called with what happens on the way to a machine to which exec-server may have to be brought. */
  readonly onStep?: (step: Step) => void;
}

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
  targetOptions: Pick<TargetOptions, "debug">,
  purpose: Purpose,
  program: ProgramOptions = {},
): Promise<Host> {
  const options = connectOptions(targetOptions, program);
  switch (target.kind) {
    case "own":
      return connectOwn(options);
    case "url": {
      const { url, kind: _kind, name: _name, ...more } = target;
      return connect(await targetAt(url), { ...options, ...more });
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
        ...defined({ initializeTimeoutMs, onStep: program.onStep }),
        kept: purpose === "kept",
      });
    }
  }
}

/** The `connect` target for a URL. Only a relay needs its cryptography. */
export async function targetAt(url: string): Promise<string | RelayTarget> {
  if (!url.startsWith("relay+")) return url;
  const { relayTarget } = await import("./relay/relay-target.ts");
  return relayTarget(url);
}

/** Options shared by every connection of a command. */
export function connectOptions(
  { debug }: Pick<TargetOptions, "debug">,
  program: ProgramOptions = {},
): ConnectOptions {
  return {
    clientName: "exec-server-cli",
    ...program,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
    ...(debug === true ? { onMessage: showMessage } : {}),
  };
}

/** Throws a Failure that says what to do if a server lacks an extension that a command needs. */
export function requireExtension(host: Host, target: Target, extension: string): void {
  if (host.supports(extension)) return;
  const version = host.environment?.serverVersion;
  const known = version === undefined ? "" : ` (version ${version})`;
  if (target.kind === "own")
    throw new Failure(
      `the running server is older${known} and lacks ${extension}: 'exec-server ps' shows what still runs, 'exec-server stop' ends the server, and the next command starts a new one`,
    );
  const name = "name" in target && target.name !== undefined ? ` '${target.name}'` : "";
  throw new Failure(
    `the server${name}${known} lacks ${extension}; it must be an exec-server that is as new as this one`,
  );
}

/** Longer messages are mostly base64. */
const MAX_CHARACTERS = 2_000;
const ARROWS = { sent: "-->", received: "<--" } as const;

/** Prints one message of the wire on stderr, for `--debug`. */
export function showMessage(direction: keyof typeof ARROWS, text: string): void {
  const shown = printable(visibleJson(shorten(text.trimEnd(), MAX_CHARACTERS)));
  writeErr(`${ARROWS[direction]} ${shown}\n`);
}

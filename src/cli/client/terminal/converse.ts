import type { Host } from "../../../client/host/host.ts";
import type { ExitReport } from "../../../client/routes/process-events.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { createDeferred } from "../../../base/deferred.ts";
import { writeOut } from "../../shared/standard-streams.ts";
import { ESCAPE_HELP, type EscapeCommand } from "./escape-keys.ts";
import { passKeys } from "./keyboard.ts";
import type { EndingSignal, LocalTerminal } from "./local-terminal.ts";
import { RemoteScreen } from "./remote-screen.ts";

/** How a session between a person and a remote process ended. */
export type Outcome =
  | { readonly kind: "ended"; readonly report: ExitReport }
  /** The person left; the process keeps running. */
  | { readonly kind: "left" }
  | { readonly kind: "signal"; readonly signal: EndingSignal };

/** This program's output has no reader. A local command would be ended by the signal. */
const BROKEN_PIPE: Outcome = { kind: "signal", signal: "SIGPIPE" };

export interface ConversationOptions {
  /** Paints the screen of a process that has run before. */
  readonly paintFirst?: boolean;
  /** The person only looks. */
  readonly readOnly?: boolean;
  /** The end of stdin is not the end of the process's input. */
  readonly keepsInput?: boolean;
  /** Rejects when the end is not waited for any longer. */
  readonly givenUp?: Promise<never>;
}

/** Connects this terminal to a remote process until it ends or the person leaves. */
export async function converse(
  terminal: LocalTerminal,
  host: Host,
  remote: RemoteProcess,
  { paintFirst = false, readOnly = false, keepsInput = false, givenUp }: ConversationOptions = {},
): Promise<Outcome> {
  const left = createDeferred<Outcome>();
  const leave = (signal: EndingSignal): void => left.resolve({ kind: "signal", signal });
  const screen = new RemoteScreen(terminal, host, remote);
  const command = (name: EscapeCommand): void => {
    if (name === "leave") left.resolve({ kind: "left" });
    else if (name === "help") void writeOut(ESCAPE_HELP.replaceAll("\n", "\r\n")).catch(() => {});
    else terminal.suspend();
  };
  const resize = (): void => {
    const { size } = terminal;
    // A server that cannot resize still runs the program.
    if (size !== undefined && remote.tty && !readOnly) remote.resize(size).catch(() => {});
  };
  // Raw mode only while keys are passed on: a piped process has no terminal to handle them.
  if (remote.tty) terminal.raw();
  const undo = [
    passKeys(terminal, host, remote, { readOnly, keepsInput, command, hangUp: () => leave("SIGHUP") }),
    terminal.onResize(resize),
    terminal.onContinue(() => screen.refresh()),
    terminal.onEndingSignal(leave),
  ];
  try {
    resize();
    const ended = screen.follow({ paintFirst }).then(async (): Promise<Outcome> => {
      return { kind: "ended", report: await remote.exited };
    });
    const outcome = await Promise.race([ended, left.promise, ...(givenUp === undefined ? [] : [givenUp])]);
    if (outcome.kind !== "ended") await screen.leave();
    return outcome;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EPIPE") return BROKEN_PIPE;
    await screen.leave();
    throw error;
  } finally {
    terminal.cooked();
    for (const step of undo) step();
  }
}

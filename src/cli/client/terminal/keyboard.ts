import type { Host } from "../../../client/host/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { ExecError } from "../../../base/errors.ts";
import { type EscapeCommand, EscapeKeys } from "./escape-keys.ts";
import type { LocalTerminal } from "./local-terminal.ts";

/**
 * Maximum number of typed or pasted bytes that wait for the server. Beyond it, reading the terminal pauses. Without a
 * connection it does not, because the user must be able to leave; further keys are then lost.
 */
const MAX_UNSENT_BYTES = 64 * 1024;

export interface KeyboardOptions {
  /** Typed text goes nowhere; only escapes count. */
  readonly readOnly: boolean;
  /** The end of stdin is not the end of the process's input. */
  readonly keepsInput: boolean;
  readonly command: (command: EscapeCommand) => void;
  /** The terminal is gone. */
  readonly hangUp: () => void;
}

/** Sends typed bytes to a remote process, until the returned function is called. */
export function passKeys(
  terminal: LocalTerminal,
  host: Host,
  remote: RemoteProcess,
  { readOnly, keepsInput, command, hangUp }: KeyboardOptions,
): () => void {
  const { stdin } = process;
  if (!terminal.hasKeys) return readOnly ? () => {} : passStream(remote, { end: !keepsInput });
  const keys = new EscapeKeys();
  let unsentBytes = 0;
  const isFull = (): boolean => unsentBytes > MAX_UNSENT_BYTES;
  const pace = (): unknown => (isFull() && host.state === "connected" ? stdin.pause() : stdin.resume());
  const send = (bytes: Uint8Array): void => {
    if (readOnly || (isFull() && host.state !== "connected")) return;
    unsentBytes += bytes.length;
    pace();
    const sent = (): void => {
      unsentBytes -= bytes.length;
      pace();
    };
    // A process that has ended takes no keys; its end is reported elsewhere.
    remote.write(bytes).then(sent, sent);
  };
  const read = (bytes: Uint8Array): void => {
    for (const action of keys.read(bytes)) {
      if ("send" in action) {
        send(action.send);
        continue;
      }
      command(action.command);
      // The rest of the line is not for the process.
      if (action.command === "leave") break;
    }
  };
  // Ctrl-D in a terminal that is not raw.
  const end = (): void => {
    if (remote.tty) hangUp();
    else if (!readOnly) remote.closeStdin().catch(() => {});
  };
  stdin.on("data", read).once("end", end).once("error", hangUp);
  const unlisten = host.onStateChange(pace);
  return () => {
    unlisten();
    // A late answer must not make it read again.
    unsentBytes = Number.POSITIVE_INFINITY;
    stdin.off("data", read).off("end", end);
    stdin.destroy();
  };
}

/** Piped input is sent completely. */
function passStream(remote: RemoteProcess, { end }: { end: boolean }): () => void {
  const { stdin } = process;
  const stop = new AbortController();
  remote.writeFrom(stdin, { end, signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted && !(error instanceof ExecError)) throw error;
  });
  return () => {
    stop.abort();
    stdin.destroy();
  };
}

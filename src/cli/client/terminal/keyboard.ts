import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { ExecError } from "../../../base/errors.ts";
import { type EscapeCommand, EscapeKeys } from "./escape-keys.ts";
import type { LocalTerminal } from "./local-terminal.ts";

/** Typed bytes that may wait for a connection; further keys are lost, as on a terminal that does not read. */
const MAX_UNSENT_BYTES = 64 * 1024;

export interface KeyboardOptions {
  /** Typed text goes nowhere; only escapes count. */
  readonly readOnly: boolean;
  readonly command: (command: EscapeCommand) => void;
  /** The terminal is gone. */
  readonly hangUp: () => void;
}

/** Sends what is typed here to a remote process, until the returned function is called. */
export function passKeys(
  terminal: LocalTerminal,
  remote: RemoteProcess,
  { readOnly, command, hangUp }: KeyboardOptions,
): () => void {
  const { stdin } = process;
  if (!terminal.hasKeys) return passStream(remote, readOnly);
  const keys = new EscapeKeys();
  let unsentBytes = 0;
  const send = (bytes: Uint8Array): void => {
    if (readOnly || unsentBytes + bytes.length > MAX_UNSENT_BYTES) return;
    unsentBytes += bytes.length;
    const sent = (): void => void (unsentBytes -= bytes.length);
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
  return () => {
    stdin.off("data", read).off("end", end);
    stdin.pause();
  };
}

/** What is piped in is sent whole, and its end too. */
function passStream(remote: RemoteProcess, readOnly: boolean): () => void {
  const { stdin } = process;
  if (readOnly) return () => {};
  const stop = new AbortController();
  remote.writeFrom(stdin, { signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted && !(error instanceof ExecError)) throw error;
  });
  return () => {
    stop.abort();
    stdin.destroy();
  };
}

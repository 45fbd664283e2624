import type { RemoteProcess } from "../../../client/process/remote-process.ts";

/** Signals that people and service managers send to a command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** Passes signals on to a process, until the returned function is called. */
export function forwardSignals(process_: RemoteProcess, failed: (error: unknown) => void): () => void {
  const listeners = SIGNALS.map((signal) => {
    const forward = (): void => void process_.signal(signal).catch(failed);
    process.on(signal, forward);
    return () => process.off(signal, forward);
  });
  return () => {
    for (const remove of listeners) remove();
  };
}

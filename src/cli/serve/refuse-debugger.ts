/**
 * Node answers SIGUSR1 by opening a debugger on a port of loopback, where every user of the machine can run code in the
 * program. Whoever has a process of the same user can send the signal, so a listener takes it.
 */
export function refuseDebugger(): void {
  process.on("SIGUSR1", () => {});
}

/**
 * Node answers SIGUSR1 by opening a debugger on a loopback port, where every user of the machine can run code in the
 * program. Any process of the same user can send the signal, so a listener intercepts it.
 */
export function refuseDebugger(): void {
  process.on("SIGUSR1", () => {});
}

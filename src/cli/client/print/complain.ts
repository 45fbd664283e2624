import { printable } from "./printable.ts";

/** Prints lines about this command on stderr. Nobody has to read them. */
export function complain(message: string): void {
  const { stderr } = process;
  if (stderr.listenerCount("error") === 0) stderr.on("error", () => {});
  stderr.write(`exec-server: ${message.split("\n").map(printable).join("\n")}\n`);
}

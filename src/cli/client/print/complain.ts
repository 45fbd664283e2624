import { writeErr } from "../../standard-streams.ts";
import { printable } from "./printable.ts";

/** Prints lines about this command on stderr. Nobody has to read them. */
export function complain(message: string): void {
  writeErr(`exec-server: ${message.split("\n").map(printable).join("\n")}\n`);
}

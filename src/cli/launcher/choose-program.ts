import { SERVER_COMMANDS, targetOption } from "../shared/command-words.ts";

const SERVER_PROGRAM = "program.js";
const CLIENT_PROGRAM = "client.js";

/**
 * The program for a command line, chosen by its first words. Without a command it serves; a person who says nothing at
 * all is greeted.
 */
export function chooseProgram([first, second]: readonly string[], isTerminal: boolean): string {
  if (first === undefined && isTerminal) return CLIENT_PROGRAM;
  // `--help` and `help` ask about all commands, `help serve` about one of the server's.
  if (first === "--help" || first === "-h") return CLIENT_PROGRAM;
  const command = first === "help" && !second?.startsWith("-") ? (second ?? first) : first;
  if (command === undefined || Object.hasOwn(SERVER_COMMANDS, command)) return SERVER_PROGRAM;
  return command.startsWith("-") && targetOption(command) === undefined ? SERVER_PROGRAM : CLIENT_PROGRAM;
}

const SERVER_PROGRAM = "program.js";
const CLIENT_PROGRAM = "client.js";

/** Commands that need the server's code. */
const SERVER_COMMANDS = new Set(["serve", "doctor", "sandbox"]);

/** Options that may come before the name of a client's command, and those that ask about all commands. */
const CLIENT_OPTION = /^(?:-H|--(?:host|url|token-file|ca|cert|key)(?:=|$)|--debug$|--help$|-h$)/;

/** The program for a command line, chosen by its first words. Without a command, it serves. */
export function chooseProgram([first, second]: readonly string[]): string {
  if (first === undefined || SERVER_COMMANDS.has(first)) return SERVER_PROGRAM;
  if (first === "help" && second !== undefined && SERVER_COMMANDS.has(second)) return SERVER_PROGRAM;
  return first.startsWith("-") && !CLIENT_OPTION.test(first) ? SERVER_PROGRAM : CLIENT_PROGRAM;
}

import type { Command } from "commander";
import { SERVER_COMMANDS, TARGET_OPTIONS } from "../shared/command-words.ts";

/** Groups of the overview of all commands, in order. A command without a group is hidden. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Run things": ["run", "shell", "open", "attach", "record", "replay", "agent"],
  "Work through rows": ["map", "agents"],
  "Look after them": ["ps", "logs", "wait", "kill", "rename", "rm", "prune"],
  "Files and network": ["cp", "sync", "ls", "cat", "fetch", "tunnel"],
  "Where commands run": ["host", "fleet", "status", "stop", "bridge", "mcp"],
  "The server": ["serve", "doctor", "sandbox", "token", "audit", "relay", "forward"],
  More: ["help", "completion"],
};
const COMMAND_COLUMNS = 12;
const OPTION_COLUMNS = 20;

/** The help of the whole program: every command in one line. */
export function overview(program: Command): string {
  const summaries = new Map([
    ...program.commands.map((command) => [command.name(), command.summary()] as const),
    ...Object.entries(SERVER_COMMANDS),
    ["help", "print the help of a command"],
  ]);
  // For the help of one command, the others are not loaded.
  const groups = Object.entries(COMMAND_GROUPS).map(([title, names]) => {
    const lines = names
      .filter((name) => summaries.has(name))
      .map((name) => `  ${name.padEnd(COMMAND_COLUMNS)}${summaries.get(name)}\n`);
    return lines.length === 0 ? "" : `\n${title}:\n${lines.join("")}`;
  });
  const options = TARGET_OPTIONS.map(
    ([flags, description]) => `  ${flags.replace(/[<>]/g, "").padEnd(OPTION_COLUMNS)}${description}\n`,
  );
  return `${INTRODUCTION}${groups.join("")}${OPTIONS_TITLE}${options.join("")}${ENDING}`;
}

const INTRODUCTION = `Run processes, terminals and files on this machine or another

Usage: exec-server COMMAND [OPTIONS]
       exec-server [serve] --listen URL [OPTIONS]
`;

const OPTIONS_TITLE = `
Every command takes these options, before or after its name:
`;

const ENDING = `Without any of them, a command runs on your own server, which starts by itself.

Examples:
  exec-server run -- make test
  exec-server run -d --name web -- npm start
  exec-server logs -f web
  exec-server --listen ws://127.0.0.1:7070

'exec-server help COMMAND' says more about one command.
`;

/** For a person who says nothing: it fits into 80 columns. */
export const GREETING = `exec-server runs processes, terminals and files, on this machine or another.

Try:
  exec-server run -- uname -a                   run a command
  exec-server run -d --name web -- sleep 300    leave one running: ps, logs web
  exec-server open                              see it all in a browser
  exec-server -H ssh://ann@build.example shell  use another machine
  exec-server serve                             serve programs, such as Codex
  exec-server --help                            list every command

Commands run on your own server, which starts by itself.
`;

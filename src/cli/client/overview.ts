import type { Command } from "commander";
import { COMMAND_GROUPS } from "./command-groups.ts";

const COLUMN = 14;

/** Commands of the server's program, which this one only names. */
export const SERVER_COMMANDS: Readonly<Record<string, string>> = {
  serve: "serve clients; the command may be left out; see 'serve --help'",
  doctor: "try the sandbox on this machine, and say what is missing",
  sandbox: "print what a sandbox allows on this machine",
};

/** The help of the whole program: every command in one line. */
export function overview(program: Command): string {
  const summaries = new Map(program.commands.map((command) => [command.name(), command.summary()]));
  for (const [name, summary] of Object.entries(SERVER_COMMANDS)) summaries.set(name, summary);
  summaries.set("help", "print the help of a command");
  const groups = COMMAND_GROUPS.map(({ title, names }) => ({
    title,
    lines: names.filter((name) => summaries.has(name)).map((name) => entry(name, summaries.get(name)!)),
  }));
  const shown = groups.filter(({ lines }) => lines.length > 0);
  return `${INTRODUCTION}${shown.map(({ title, lines }) => `\n${title}:\n${lines.join("")}`).join("")}${ENDING}`;
}

function entry(name: string, summary: string): string {
  return `  ${name.padEnd(COLUMN - 2)}${summary}\n`;
}

const INTRODUCTION = `Run processes, terminals and files on this machine or another

Usage: exec-server COMMAND [OPTIONS]
       exec-server [serve] [--listen URL] [OPTIONS]
`;

const ENDING = `
Every command takes these options, before or after its name:
  -H, --host NAME     a host of hosts.toml, or ssh://[USER@]MACHINE[:PORT]
  --url URL           ws://, wss:// or ws+unix:// address; also EXEC_SERVER_URL
  --token-file PATH   file with the token for --url; also EXEC_SERVER_TOKEN
  --ca PATH           authorities to trust with wss://; also EXEC_SERVER_CA
  --cert PATH         client certificate for wss://; also EXEC_SERVER_CERT
  --key PATH          its private key; also EXEC_SERVER_KEY
  --debug             show every message that is sent and received
Without any of them, a command runs on your own server, which starts by itself.

Examples:
  exec-server run -- make test
  exec-server run -d --name web -- npm start
  exec-server logs -f web
  exec-server --listen ws://127.0.0.1:7070

'exec-server help COMMAND' says more about one command.
`;

import type { Command } from "commander";
import { targetOption } from "../shared/command-words.ts";

interface CommandModule {
  /** Adds the command, its options and its action. */
  readonly define: (program: Command) => void;
}

/** `overview.ts` orders them in the help. Each command is loaded when it is used. */
export const COMMANDS: Readonly<Record<string, () => Promise<CommandModule>>> = {
  run: () => import("./commands/run.ts"),
  shell: () => import("./commands/shell.ts"),
  attach: () => import("./commands/attach.ts"),
  record: () => import("./commands/record.ts"),
  replay: () => import("./commands/replay.ts"),
  agent: () => import("./commands/agent.ts"),
  map: () => import("./commands/map.ts"),
  agents: () => import("./commands/agents.ts"),
  ps: () => import("./commands/ps.ts"),
  logs: () => import("./commands/logs.ts"),
  wait: () => import("./commands/wait.ts"),
  kill: () => import("./commands/kill.ts"),
  rename: () => import("./commands/rename.ts"),
  rm: () => import("./commands/rm.ts"),
  prune: () => import("./commands/prune.ts"),
  cp: () => import("./commands/cp.ts"),
  sync: () => import("./commands/sync.ts"),
  ls: () => import("./commands/ls.ts"),
  cat: () => import("./commands/cat.ts"),
  fetch: () => import("./commands/fetch.ts"),
  completion: () => import("./commands/completion.ts"),
  tunnel: () => import("./commands/tunnel.ts"),
  host: () => import("./commands/host.ts"),
  fleet: () => import("./commands/fleet.ts"),
  open: () => import("./commands/open.ts"),
  mcp: () => import("./commands/mcp.ts"),
  bridge: () => import("./commands/bridge.ts"),
  audit: () => import("./commands/audit.ts"),
  token: () => import("./commands/token.ts"),
  status: () => import("./commands/status.ts"),
  stop: () => import("./commands/stop.ts"),
};

/** The command that the arguments name; undefined if it is missing or unknown. */
export function commandNamed(args: readonly string[]): string | undefined {
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index]!;
    if (targetOption(argument)?.takesNext === true) index += 1;
    else if (!argument.startsWith("-")) return Object.hasOwn(COMMANDS, argument) ? argument : undefined;
  }
  return undefined;
}

import type { Command } from "commander";

interface ClientCommand {
  /** Adds the command, its options and its action. */
  readonly define: (program: Command) => Promise<void>;
}

/** `command-groups.ts` orders the overview of the help. Each command is loaded when it is used. */
export const COMMANDS: Readonly<Record<string, ClientCommand>> = {
  run: { define: async (program) => (await import("./commands/run.ts")).define(program) },
  shell: { define: async (program) => (await import("./commands/shell.ts")).define(program) },
  attach: { define: async (program) => (await import("./commands/attach.ts")).define(program) },
  record: { define: async (program) => (await import("./commands/record.ts")).define(program) },
  replay: { define: async (program) => (await import("./commands/replay.ts")).define(program) },
  agent: { define: async (program) => (await import("./commands/agent.ts")).define(program) },
  map: { define: async (program) => (await import("./commands/map.ts")).define(program) },
  agents: { define: async (program) => (await import("./commands/agents.ts")).define(program) },
  ps: { define: async (program) => (await import("./commands/ps.ts")).define(program) },
  logs: { define: async (program) => (await import("./commands/logs.ts")).define(program) },
  wait: { define: async (program) => (await import("./commands/wait.ts")).define(program) },
  kill: { define: async (program) => (await import("./commands/kill.ts")).define(program) },
  cp: { define: async (program) => (await import("./commands/cp.ts")).define(program) },
  sync: { define: async (program) => (await import("./commands/sync.ts")).define(program) },
  ls: { define: async (program) => (await import("./commands/ls.ts")).define(program) },
  cat: { define: async (program) => (await import("./commands/cat.ts")).define(program) },
  fetch: { define: async (program) => (await import("./commands/fetch.ts")).define(program) },
  completion: { define: async (program) => (await import("./commands/completion.ts")).define(program) },
  tunnel: { define: async (program) => (await import("./commands/tunnel.ts")).define(program) },
  host: { define: async (program) => (await import("./commands/host.ts")).define(program) },
  fleet: { define: async (program) => (await import("./commands/fleet.ts")).define(program) },
  open: { define: async (program) => (await import("./commands/open.ts")).define(program) },
  bridge: { define: async (program) => (await import("./commands/bridge.ts")).define(program) },
  audit: { define: async (program) => (await import("./commands/audit.ts")).define(program) },
  token: { define: async (program) => (await import("./commands/token.ts")).define(program) },
  status: { define: async (program) => (await import("./commands/status.ts")).define(program) },
  stop: { define: async (program) => (await import("./commands/stop.ts")).define(program) },
};

/** Options that may come before the name of a command and take a value. */
const WITH_VALUE = new Set(["-H", "--host", "--url", "--token-file", "--ca", "--cert", "--key"]);

/** The command that the arguments name; undefined if there is none, or it is not known. */
export function commandNamed(args: readonly string[]): string | undefined {
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index]!;
    if (WITH_VALUE.has(argument)) index += 1;
    else if (!argument.startsWith("-")) return Object.hasOwn(COMMANDS, argument) ? argument : undefined;
  }
  return undefined;
}

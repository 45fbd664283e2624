import type { Command } from "commander";
import { TARGET_OPTIONS } from "../../shared/command-words.ts";

/** Options of every command that talks to a server. */
export interface TargetOptions {
  readonly host?: string;
  readonly url?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly bring?: boolean;
  readonly debug?: boolean;
}

/** Adds these options. They may come before or after the name of the command. */
export function withTarget(command: Command): Command {
  command.optionsGroup("Where it runs:");
  for (const [flags, description] of TARGET_OPTIONS) command.option(flags, description);
  return command.optionsGroup("Options:");
}

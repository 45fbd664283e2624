import type { Command } from "commander";
import type { NamedSecret } from "../../../client/process/start-request.ts";
import { usageFailure } from "../../shared/failure.ts";
import { repeated } from "../arguments.ts";

/** Adds `--secret`. */
export function withSecrets(command: Command, whose: string): Command {
  return command.option(
    "--secret <NAME[=HOST,...]>",
    `let ${whose} use a secret without having it, only for these hosts (repeatable)`,
    repeated,
  );
}

/** The secrets of `--secret`. */
export function namedSecrets(texts: readonly string[] = []): NamedSecret[] {
  return texts.map((text) => {
    const [, name = "", , hosts] = /^([^=]*)(=(.*))?$/s.exec(text) ?? [];
    const named = hosts?.split(",").map((host) => host.trim());
    if (name === "" || named?.includes("") === true)
      throw usageFailure(`--secret needs NAME or NAME=HOST, not '${text}'`);
    return named === undefined ? { name } : { name, hosts: named };
  });
}

/** Values that this shell has for them. The user's own server has no others. */
export function ownSecretValues(texts: readonly string[] = []): [string, string][] {
  return namedSecrets(texts).flatMap(({ name }): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
}

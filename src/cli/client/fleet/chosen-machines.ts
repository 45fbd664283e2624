import type { Command } from "commander";
import type { Fleet } from "../../../client/host/fleet.ts";
import { usageFailure } from "../../shared/failure.ts";
import { findFleet } from "../target/hosts/find-fleet.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { openNamedFleet } from "./open-named-fleet.ts";
import { type Labels, parseLabels } from "./parse-labels.ts";

/** Options of commands that can use many machines. */
export interface OnOptions extends TargetOptions {
  /** Empty for all machines of the fleet. */
  readonly on?: Labels;
}

/** Adds `--on`. */
export function withOn(
  command: Command,
  description = "use all machines of the fleet -H with these labels: K=V[,K=V], or all",
): Command {
  return command.option("--on <LABELS>", description, parseOn);
}

/** Opens the fleet whose machines are to be used. */
export async function openChosenFleet(options: OnOptions, signal: AbortSignal): Promise<Fleet> {
  if (options.url !== undefined)
    throw usageFailure("--on is for the machines of a fleet; name it with -H FLEET, not with --url");
  const name = options.host ?? (process.env["EXEC_SERVER_HOST"] || undefined);
  if (name?.includes("/"))
    throw usageFailure(`'${name}' is one machine; with --on, name the fleet alone: -H ${name.split("/")[0]}`);
  return await openNamedFleet(findFleet(name), options, { signal });
}

/** `all` is not a label: labels have a value. */
function parseOn(text: string, earlier?: Labels): Labels {
  return text === "all" ? (earlier ?? {}) : parseLabels(text, earlier);
}

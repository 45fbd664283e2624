import { readFileSync } from "node:fs";
import { isLoopbackUrl } from "../../../base/loopback-url.ts";
import { listEnvironments } from "../../../relay/registry.ts";
import type { EnvironmentStatus } from "../../../relay/environment-status.ts";
import { describeFileError, Failure, usageFailure } from "../../shared/failure.ts";
import { readSmallFile } from "../../shared/read-small-file.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { visibleLines } from "../../../base/visible-text.ts";
import { parseFlags } from "../flags.ts";

const FLAGS = { relay: "URL", "token-file": "PATH", ca: "PATH" };
const TIMEOUT_MS = 10_000;

/** Lists the environments of a relay. */
export async function listRelay(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: FLAGS, switches: ["json"] });
  const relay = flags.get("relay");
  if (relay === undefined) throw usageFailure("'--relay <URL>' is required");
  const file = flags.get("token-file");
  const token = file === undefined ? process.env["EXEC_SERVER_TOKEN"] : read(file, readSmallFile).trim();
  if (token) checkSecure(relay);
  const ca = flags.get("ca") ?? (process.env["EXEC_SERVER_CA"] || undefined);
  const environments = await listEnvironments({
    base: relay,
    bearer: () => token || undefined,
    ...(ca === undefined ? {} : { tls: { ca: read(ca, readFileSync) } }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (flags.has("json")) await printJson(environments);
  else await print(visibleLines(table(environments)));
}

/** Anyone on the way could read the token. */
function checkSecure(relay: string): void {
  const url = URL.canParse(relay) ? new URL(relay) : undefined;
  if (url?.protocol === "http:" && !isLoopbackUrl(url))
    throw usageFailure(`the token would be sent to ${url.host} without encryption; use https://`);
}

function read(path: string, readFile: (path: string) => Buffer): string {
  try {
    return readFile(path).toString("utf8");
  } catch (error) {
    throw new Failure(`cannot read ${path}: ${describeFileError(error)}`);
  }
}

function table(environments: readonly EnvironmentStatus[]): string {
  if (environments.length === 0) return "No executor is registered.\n";
  const rows = environments.map(({ environmentId, isOnline, streams, token, key }) => [
    environmentId,
    isOnline ? "online" : "offline",
    String(streams),
    token,
    key,
  ]);
  const titled = [["ENVIRONMENT", "STATE", "CLIENTS", "TOKEN", "KEY"], ...rows];
  const widths = titled[0]!.map((_, column) => Math.max(...titled.map((row) => row[column]!.length)));
  return titled
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

import type { Command } from "commander";
import { shownUrl } from "../../../base/shown-url.ts";
import type { Host } from "../../../client/host/host.ts";
import { setAction } from "../outcome/end-with.ts";
import { formatDuration } from "../../../base/amounts.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { stdoutColors } from "../print/colors.ts";
import { table } from "../print/table.ts";
import { connectOptions, openTarget } from "../target/connect-target.ts";
import { findOwn } from "../target/own-server/connect-own.ts";
import { ownServerPaths } from "../target/own-server/own-server-paths.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import type { Target } from "../target/target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

const EXAMPLES = `
A server that is not running is not started.

Status: 0, also if your own server is not running; 1 if a server cannot be reached.

Examples:
  exec-server status
  exec-server -H build status --json
`;

interface StatusOptions extends TargetOptions {
  readonly json?: boolean;
}

/** The output, with these names in JSON. */
interface Status {
  readonly kind: Target["kind"];
  readonly name: string | null;
  readonly place: string;
  readonly running: boolean;
  readonly version?: string | null;
  readonly pid?: number;
  readonly startedAt?: string;
  /** Without this command's own. */
  readonly connections?: number;
  readonly sessions?: number;
  readonly runningProcesses?: number;
}

/** Adds `status`. */
export function define(program: Command): void {
  const command = program
    .command("status")
    .summary("show where commands run, and how busy that server is")
    .description("Show where commands run, and how busy that server is.")
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), showStatus);
}

async function showStatus(options: StatusOptions): Promise<void> {
  const status = await readStatus(options);
  await (options.json === true ? printJson(status) : print(describe(status)));
}

async function readStatus(options: TargetOptions): Promise<Status> {
  const target = await resolveTarget(options);
  const known = describeTarget(target);
  const host =
    target.kind === "own"
      ? await findOwn(connectOptions(options))
      : await openTarget(target, options, "session");
  if (host === undefined) return { ...known, running: false };
  await using _host = host;
  return { ...known, running: true, version: versionOf(host), ...(await activity(host)) };
}

function describeTarget(target: Target): Pick<Status, "kind" | "name" | "place"> {
  switch (target.kind) {
    case "own":
      return { kind: "own", name: null, place: ownServerPaths().socket };
    case "url":
      return { kind: "url", name: target.name ?? null, place: shownUrl(target.url) };
    case "executor":
      return { kind: "executor", name: target.name, place: [target.fleet.address.servers].flat().join(", ") };
    case "program":
      return { kind: "program", name: target.name, place: target.command.join(" ") };
  }
}

/** Codex's own server, and older ones, do not say it. */
function versionOf({ environment }: Host): string | null {
  return environment?.serverVersion ?? null;
}

async function activity(host: Host): Promise<Partial<Status>> {
  if (!host.supports("server/status")) return {};
  const { pid, startedAtMs, connections, sessions, runningProcesses } = await host.request(
    "server/status",
    null,
  );
  return {
    pid,
    startedAt: new Date(startedAtMs).toISOString(),
    connections: connections - 1,
    sessions: sessions - 1,
    runningProcesses,
  };
}

const KINDS = {
  own: "your own server on this machine",
  url: "the server",
  program: "the server that a program reaches,",
  executor: "the executor",
};
const PLACES = { own: "socket", url: "url", program: "program", executor: "fleet" };

function describe({ kind, name, place, running, ...status }: Status): string {
  const { bold } = stdoutColors();
  const { version, pid, startedAt, runningProcesses, sessions } = status;
  const rows: [string, string][] = [
    ["commands run on", `${KINDS[kind]}${name === null ? "" : ` '${name}'`}`],
    [PLACES[kind], place],
  ];
  if (!running) rows.push(["server", "not running; the next command starts it"]);
  else
    rows.push([
      "server",
      version === null
        ? "unknown version"
        : `exec-server ${version}${pid === undefined ? "" : `, pid ${pid}`}`,
    ]);
  if (startedAt !== undefined) rows.push(["running for", formatDuration(Date.now() - Date.parse(startedAt))]);
  if (runningProcesses !== undefined)
    rows.push(["processes", String(runningProcesses)], ["other sessions", String(sessions)]);
  const columns = [
    { value: ([key]: [string, string]) => key, style: bold },
    { value: ([, value]: [string, string]) => value },
  ];
  return table(rows, columns);
}

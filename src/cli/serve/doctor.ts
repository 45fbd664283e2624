import { type Check, examineSandbox } from "../../capabilities/process/sandbox-examination.ts";
import type { MachineFacts } from "../../capabilities/sandbox/machine-facts.ts";
import { visibleLines } from "../../base/visible-text.ts";
import { print, printJson } from "../shared/standard-streams.ts";
import { VERSION } from "../shared/version.ts";
import { examineSetup } from "./doctor/examine-setup.ts";
import { parseFlags } from "./flags.ts";
import { SERVER_FLAGS } from "./server-flags.ts";

export const help = `Check whether a server works on this machine, and what is missing

Usage: exec-server doctor [--json] [--url URL] [OPTIONS OF THE SERVER]

A program inside a sandbox attempts what it must not be able to do: write and read files, connect
to a server, see other processes. Then comes what the server needs: how many files it may open and,
with the options that it is started with, its address, its certificate, its files and their
permissions, and the NATS server of its fleet. Whatever fails is printed with its remedy. Run it as
the user that runs the server, with its PATH. It starts no server.

Options:
      --json     Print one JSON object: version, ok, machine, checks
      --url URL  Compare this machine's clock with that of a server
  -h, --help     Print help

Exit status: 0 if everything works, 1 if something does not, 2 for an invalid command line.

Examples:
  exec-server doctor
  exec-server doctor --listen wss://0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem
  exec-server doctor --config server.toml --url wss://build.example:7070
  exec-server doctor --json | jq '.checks[] | select(.ok | not)'
`;

/** Checks this machine, and a server's setup. Exits with 0 if everything works, otherwise with 1. */
export async function run(args: readonly string[]): Promise<void> {
  const { values, switches, repeatable } = SERVER_FLAGS;
  const flags = parseFlags(args, {
    values: { ...values, url: "URL" },
    switches: [...switches, "json"],
    repeatable,
  });
  // Flags are judged before anything is tried.
  const setup = await examineSetup(flags);
  const { machine, ok: isConfined, checks } = await examineSandbox(process.env["PATH"]);
  const all = [...checks, ...setup];
  const ok = all.every((check) => check.ok);
  process.exitCode = ok ? 0 : 1;
  if (flags.has("json")) await printJson({ version: VERSION, ok, machine, checks: all });
  else await print(visibleLines(describe(machine, all, verdicts(isConfined, setup))));
}

function describe(machine: MachineFacts, checks: readonly Check[], ends: readonly string[]): string {
  const { platform, kernel, architecture, isRoot, isContainer } = machine;
  const who = `${isRoot ? "root" : "an ordinary user"}${isContainer ? " in a container" : ""}`;
  return [
    `exec-server ${VERSION} on ${platform} ${kernel}, ${architecture}, as ${who}`,
    "",
    ...checks.flatMap(describeCheck),
    "",
    ...ends,
    "",
  ].join("\n");
}

function verdicts(isConfined: boolean, setup: readonly Check[]): string[] {
  const failures = setup.filter(({ ok }) => !ok).length;
  return [
    isConfined
      ? "The sandbox works here."
      : "The sandbox does not work here: the server refuses every request that asks for one.",
    ...(failures === 0
      ? []
      : [`${failures === 1 ? "One check" : `${failures} checks`} of the server's setup failed.`]),
  ];
}

function describeCheck({ name, ok, detail, remedies, said }: Check): string[] {
  const line = `${ok ? "ok    " : "FAILED"}  ${name.padEnd(11)}  ${detail}`;
  const indented = (text: string): string => `${" ".repeat(21)}${text}`;
  return [
    line,
    ...(said === undefined || said === "" ? [] : said.split("\n").map((text) => indented(`| ${text}`))),
    ...remedies.map((remedy) => indented(`> ${remedy}`)),
  ];
}

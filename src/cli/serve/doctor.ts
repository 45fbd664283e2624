import {
  type Check,
  examineSandbox,
  type Examination,
} from "../../capabilities/process/sandbox-examination.ts";
import { visibleLines } from "../../base/visible-text.ts";
import { print, printJson } from "../shared/standard-streams.ts";
import { VERSION } from "../shared/version.ts";
import { parseFlags } from "./flags.ts";

export const help = `Check whether the sandbox works on this machine, and what is missing

Usage: exec-server doctor [--json]

A program inside a sandbox attempts what it must not be able to do: write and read files, connect
to a server, see other processes. Whatever fails is printed with its remedy: a package, a setting
of the kernel, or an AppArmor profile. Run it as the user that runs the server, with its PATH.

Options:
      --json     Print one JSON object: version, ok, machine, checks
  -h, --help     Print help

Exit status: 0 if the sandbox works, 1 if it does not, 2 for an invalid command line.

Examples:
  exec-server doctor
  exec-server doctor --json | jq '.checks[] | select(.ok | not)'
`;

/** Tries the sandbox on this machine. Exits with 0 if it works, otherwise with 1. */
export async function run(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: {}, switches: ["json"] });
  const examination = await examineSandbox(process.env["PATH"]);
  process.exitCode = examination.ok ? 0 : 1;
  if (flags.has("json")) await printJson({ version: VERSION, ...examination });
  else await print(visibleLines(describe(examination)));
}

function describe({ ok, machine, checks }: Examination): string {
  const { platform, kernel, architecture, isRoot, isContainer } = machine;
  const who = `${isRoot ? "root" : "an ordinary user"}${isContainer ? " in a container" : ""}`;
  const verdict = ok
    ? "The sandbox works here."
    : "The sandbox does not work here: the server refuses every request that asks for one.";
  return [
    `exec-server ${VERSION} on ${platform} ${kernel}, ${architecture}, as ${who}`,
    "",
    ...checks.flatMap(describeCheck),
    "",
    verdict,
    "",
  ].join("\n");
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

import {
  type Check,
  examineSandbox,
  type Examination,
} from "../../capabilities/process/sandbox-examination.ts";
import { parseFlags } from "./flags.ts";
import { printResult, printResultAsJson } from "./print-result.ts";
import { VERSION } from "../shared/version.ts";

/** Tries the sandbox on this machine. Exits with 0 if it works, otherwise with 1. */
export async function doctor(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: {}, switches: ["json"] });
  const examination = await examineSandbox(process.env["PATH"]);
  process.exitCode = examination.ok ? 0 : 1;
  if (flags.has("json")) await printResultAsJson({ version: VERSION, ...examination });
  else await printResult(describe(examination));
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

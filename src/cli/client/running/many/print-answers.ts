import { Buffer } from "node:buffer";
import { openOutput, OutputWriter } from "../output-stream.ts";
import { complain } from "../../print/complain.ts";
import { printJson, writeFailure } from "../../../shared/standard-streams.ts";
import { stdoutColors } from "../../print/colors.ts";
import { printable } from "../../print/printable.ts";
import type { AnswerGroup } from "./answer-groups.ts";

/** Prints each answer once, after the names of the machines that gave it. */
export async function printAnswers(groups: readonly AnswerGroup[]): Promise<void> {
  const stdout = writerTo(1, "stdout");
  const stderr = writerTo(2, "stderr");
  const { bold } = stdoutColors();
  for (const group of groups) {
    const { answer } = group;
    if (answer.error !== undefined) {
      complain(`${headOf(group)}: ${answer.error}`);
      continue;
    }
    const status = answer.status === 0 ? "" : `: exit status ${answer.status}`;
    const head = `${headOf(group)}${status}`;
    // Output on stderr alone needs no heading on stdout, unless the command printed nothing at all.
    if (answer.stdout.length > 0 || answer.stderr.length === 0)
      await stdout(Buffer.from(`${bold(`--- ${head}`)}\n`));
    await stdout(wholeLines(answer.stdout));
    if (answer.stderr.length > 0) {
      await stderr(Buffer.from(`--- ${head}, stderr\n`));
      await stderr(wholeLines(answer.stderr));
    }
    if (answer.omittedBytes > 0)
      complain(`${headOf(group)}: ${answer.omittedBytes} bytes of the output were left out`);
  }
}

function writerTo(fd: 1 | 2, name: string): (bytes: Uint8Array) => Promise<void> {
  const writer = new OutputWriter(openOutput(fd));
  return (bytes) =>
    writer.write(bytes).catch((error: unknown) => {
      throw writeFailure(error, name);
    });
}

/** Prints the same as one JSON document. */
export async function printAnswersAsJson(groups: readonly AnswerGroup[]): Promise<void> {
  await printJson(
    groups.map(({ names, answer: { status, stdout, stderr, omittedBytes, error } }) => ({
      machines: names,
      status,
      stdout: Buffer.from(stdout).toString(),
      stderr: Buffer.from(stderr).toString(),
      omittedBytes: omittedBytes || undefined,
      error,
    })),
  );
}

function headOf({ names }: AnswerGroup): string {
  const all = names.map(printable).join(", ");
  return names.length === 1 ? all : `${all} (${names.length} machines)`;
}

/** The next heading starts on a new line. */
function wholeLines(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0 || bytes.at(-1) === 0x0a) return bytes;
  return Buffer.concat([bytes, Buffer.from("\n")]);
}

import { SharedDescriptor } from "../../native/shared-descriptor.ts";
import { type Program, spawnOnPipes, spawnOnTerminal, type TerminalSize } from "../../native/spawn.ts";
import type { WardenRecord } from "./ending/warden.ts";
import { TerminalWriter, writePipe } from "./input-writer.ts";
import type { ProcessParts } from "./managed-process.ts";
import { readPipe, readTerminal } from "./output/output-source.ts";

/** A process that runs, with what reads and writes it. */
export type StartedParts = Omit<ProcessParts, "family">;

export async function startOnTerminal(
  program: Program,
  options: { size: TerminalSize; controlling: boolean },
  record: WardenRecord,
): Promise<StartedParts> {
  const { pid, ...master } = await spawnOnTerminal(program, options, (link) => record.starting(link));
  record.started(pid, "terminal");
  const terminal = new TerminalWriter(master.input, options.size);
  const outputRest = new SharedDescriptor(master.outputRest);
  return {
    pid,
    input: terminal,
    terminal,
    outputs: [
      {
        stream: "pty",
        end: { master: outputRest, kind: "terminal" },
        open: (sink) => readTerminal(master.output, outputRest, sink),
      },
    ],
  };
}

export async function startOnPipes(
  program: Program,
  pipeStdin: boolean,
  record: WardenRecord,
): Promise<StartedParts> {
  const { pid, ...pipes } = await spawnOnPipes(program, { stdin: pipeStdin }, (link) =>
    record.starting(link),
  );
  record.started(pid, "pipes");
  return {
    pid,
    input: pipes.stdin === undefined ? undefined : writePipe(pipes.stdin),
    outputs: (["stdout", "stderr"] as const).map((stream) => ({
      stream,
      end: { fd: pipes[stream], kind: "pipe" },
      open: (sink) => readPipe(pipes[stream], sink),
    })),
  };
}

import { messageOf } from "../../base/errors.ts";
import { visibleLines } from "../../base/visible-text.ts";
import { SpoolArchive, type SpoolRemains } from "../../capabilities/process/output/spool/spool-remains.ts";
import type { DurableDirectory } from "../../server/durable/durable-directory.ts";
import { Failure } from "../shared/failure.ts";
import { print, writeErr } from "../shared/standard-streams.ts";

/**
 * Prints what a durable server has on disk of the output of a process, of all streams together; without a name, of which
 * processes it has any.
 */
export async function printDurableLogs(directory: DurableDirectory, name: string | undefined): Promise<void> {
  const archive = openArchive(directory);
  const all = archive?.list() ?? [];
  if (archive === undefined || name === undefined) {
    await print(visibleLines(all.map(describe).join("")));
    return;
  }
  const latest = all.findLast(({ process }) => process === name);
  if (latest === undefined)
    throw new Failure(
      `there is no output of '${name}' in ${directory.path}; see 'exec-server durable logs ${directory.path}'`,
    );
  let next = 1;
  for (const { seq, bytes } of archive.chunks(latest)) {
    if (seq > next) writeErr(`exec-server: events ${next} to ${seq - 1} are not on disk\n`);
    next = seq + 1;
    await print(bytes);
  }
}

function openArchive(directory: DurableDirectory): SpoolArchive | undefined {
  try {
    return new SpoolArchive(directory.spool);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Failure(`cannot read ${directory.spool}: ${messageOf(error)}`);
  }
}

function describe({ process, owner, startedAt, argv }: SpoolRemains): string {
  return `${process}, of ${owner}, since ${startedAt}: ${argv.join(" ")}\n`;
}

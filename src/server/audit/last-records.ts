import { readLastLines } from "./last-lines.ts";
import { rotatedNumbers } from "./rotated-files.ts";

/** More than what a log writes at once, so more than what was written and not acknowledged yet. */
const MAX_LINES = 4_096;

/** A line that a keeper has numbered: its name, and the number. */
export const RECORD = /^([0-9a-f]{8}):([1-9][0-9]{0,15})$/;

/** The highest number among the last lines of each keeper, by the keeper's name. */
export async function lastRecords(file: string): Promise<Readonly<Record<string, number>>> {
  const previous = rotatedNumbers(file)
    .slice(-1)
    .map((number) => `${file}.${number}`);
  const last: Record<string, number> = {};
  for (const path of [...previous, file])
    for (const line of await readLastLines(path, MAX_LINES)) {
      const [, keeper, number] = RECORD.exec(recordOf(line)) ?? [];
      if (keeper !== undefined) last[keeper] = Math.max(last[keeper] ?? 0, Number(number));
    }
  return last;
}

function recordOf(line: string): string {
  try {
    const { record } = JSON.parse(line) as { record?: unknown };
    return typeof record === "string" ? record : "";
  } catch {
    return "";
  }
}

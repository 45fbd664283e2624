import { expect, test } from "vitest";
import { JobProgress } from "./job-progress.ts";

const COUNTS = {
  rows: 10,
  running: 2,
  completed: 3,
  failed: 1,
  cancelled: 0,
  lost: 0,
  retries: 0,
  moved: 0,
  ended: 4,
  places: 1,
};
const WAITING = { ...COUNTS, running: 0, places: 0, waiting: "3 machines match, all full (12 of 12 slots)" };

/** The rate is not part of it: it depends on when the line was drawn before. */
function shown(progress: JobProgress, now: number): string {
  return progress.text(now).replace(/ {2}\S+\/s {2}.* left$/, "");
}

test("a job that nothing runs of says why, once that has lasted a moment", () => {
  const progress = new JobProgress();
  progress.update(COUNTS, 0);
  expect(shown(progress, 10)).toBe("100%  4 of 0 rows  1 failed  2 running on 1 machine");
  progress.update(WAITING, 1_000);
  expect(shown(progress, 1_900)).toBe("100%  4 of 0 rows  1 failed  0 running on 0 machines");
  // Another reason, and a row that ended before, do not make it begin again.
  progress.update({ ...WAITING, waiting: "3 machines match, all cordoned" }, 1_950);
  expect(progress.text(2_000)).toBe("100%  4 of 0 rows  1 failed  waiting: 3 machines match, all cordoned");
  progress.update(COUNTS, 2_100);
  progress.update(WAITING, 2_200);
  expect(shown(progress, 2_300)).toBe("100%  4 of 0 rows  1 failed  0 running on 0 machines");
});

// `npm run test:durations`, after `npm test`: writes down which test files take long, for `test/fixtures/slow-first.ts`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const MIN_SECONDS = 10;
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const REPORTS = join(ROOT, ".cache/reports");
const FILE = join(ROOT, "test/fixtures/durations.json");

const seconds = new Map();
for (const report of readdirSync(REPORTS)) {
  const { testResults } = JSON.parse(readFileSync(join(REPORTS, report), "utf8"));
  for (const { name, startTime, endTime } of testResults) {
    const path = relative(ROOT, name);
    seconds.set(path, Math.max(seconds.get(path) ?? 0, Math.round((endTime - startTime) / 1000)));
  }
}
const slow = [...seconds]
  .filter(([, taken]) => taken >= MIN_SECONDS)
  .sort(([one], [other]) => one.localeCompare(other, "en"));
writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(slow), null, 2)}\n`);
console.log(`${slow.length} files take ${MIN_SECONDS} s or more; see ${relative(ROOT, FILE)}`);

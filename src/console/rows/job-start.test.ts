import { expect, test } from "vitest";
import type { ListedProcess } from "../../client/browser.ts";
import { faultsOfJob, jobArgv, jobOf, jobsOf, type JobStart, ledgerOf } from "./job-start.ts";

const JOB: JobStart = {
  input: "/data/urls.csv",
  output: "/data/urls.results.csv",
  command: ["curl", "-fsS", "{url}"],
  inShell: false,
  atOnce: "",
  retries: "",
  timeout: "",
};
const PROGRAM = ["/usr/bin/node", "/opt/exec-server/cli.js"];

test("a job is a command of exec-server, with a server of its own", () => {
  expect(jobArgv(PROGRAM, JOB)).toEqual([
    ...PROGRAM,
    ..."map --url stdio --output /data/urls.results.csv /data/urls.csv -- curl -fsS {url}".split(" "),
  ]);
  expect(ledgerOf(JOB)).toBe("/data/urls.results.csv.ledger");
});

test.each<[string, Partial<JobStart>]>([
  ["as it is", {}],
  ["with all options", { atOnce: "64", retries: "2", timeout: "30s", inShell: true, command: ["a | b"] }],
  ["whose command has the words of its options", { command: ["map", "--url", "stdio", "--", "--output"] }],
  ["whose paths are odd", { input: "/a b/-- c", output: "/--output" }],
])("a job %s is found again in its process", (_, changed) => {
  const job = { ...JOB, ...changed };
  for (const mode of [undefined, "--force", "--resume", "--only-failed"] as const)
    expect(jobOf({ argv: jobArgv(PROGRAM, job, mode) })).toEqual(job);
});

test.each([
  [[]],
  [["map"]],
  [["sh", "-c", "exec-server map --url stdio"]],
  [["exec-server", "map", "urls.csv", "--", "true"]],
  [["exec-server", "map", "--url", "stdio"]],
])("%j is no job", (argv) => {
  expect(jobOf({ argv })).toBeUndefined();
});

test("what map would refuse has its words beside the field", () => {
  const found = (changed: Partial<JobStart>) =>
    Object.entries(faultsOfJob({ ...JOB, ...changed })).flatMap(([name, fault]) => (fault ? [name] : []));
  expect(found({})).toEqual([]);
  expect(found({ atOnce: "16", retries: "0", timeout: "500ms" })).toEqual([]);
  expect(found({ input: "urls.csv", command: [" "] })).toEqual(["input", "command"]);
  expect(found({ output: "" })).toEqual(["output"]);
  expect(found({ output: JOB.input })).toEqual(["output"]);
  expect(found({ atOnce: "0", retries: "-1", timeout: "--force" })).toEqual(["atOnce", "retries", "timeout"]);
});

/** The process of a job with the same results, or one whose arguments only look like it. */
function processOf(owner: string, word: string, startedAtMs: number): ListedProcess {
  const argv = jobArgv(PROGRAM, { ...JOB, command: [word] });
  return { name: "rows-urls", owner, argv, startedAtMs } as ListedProcess;
}

test.each([
  ["started later", 3],
  ["started earlier", 1],
])("a job of another owner that was %s does not take the place of the user's", (_, startedAtMs) => {
  const own = processOf("name:ann", "own", 2);
  const jobs = jobsOf([own, processOf("name:bob", "theirs", startedAtMs)], "name:ann");
  expect(jobs).toEqual([expect.objectContaining({ listed: own, isOwn: true })]);
});

test("another owner's job is seen, but is not the user's to continue", () => {
  const theirs = processOf("name:bob", "theirs", 1);
  for (const principal of ["name:ann", undefined])
    expect(jobsOf([theirs], principal)).toEqual([expect.objectContaining({ listed: theirs, isOwn: false })]);
});

test("of the user's jobs with the same results, the latest counts", () => {
  const [first, second] = [processOf("name:ann", "first", 1), processOf("name:ann", "second", 2)];
  expect(jobsOf([first, second], "name:ann")).toEqual([expect.objectContaining({ listed: second })]);
});

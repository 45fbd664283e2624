import { expect, test } from "vitest";
import { eachOf, type Job, JobQueue } from "./job-queue.ts";

interface Held {
  readonly job: Job;
  readonly end: (error?: Error) => void;
}

/** Jobs that run until they are released. */
function heldJobs(atOnce: number, count: number): { queue: JobQueue; started: Held[]; jobs: Job[] } {
  const queue = new JobQueue(atOnce);
  const started: Held[] = [];
  const jobs = Array.from({ length: count }, (_, index) =>
    queue.add(`job ${index}`, (job) => {
      const { promise, resolve, reject } = deferred();
      started.push({ job, end: (error) => (error === undefined ? resolve() : reject(error)) });
      return promise;
    }),
  );
  return { queue, started, jobs };
}

function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

const states = (jobs: readonly Job[]): string[] => jobs.map(({ state }) => state.value);
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

test("only so many jobs run at once, and the next begins when one is over, however it ended", async () => {
  const { started, jobs } = heldJobs(2, 4);
  expect(states(jobs)).toEqual(["running", "running", "waiting", "waiting"]);
  started[0]!.end(new Error("full"));
  await settle();
  expect(states(jobs)).toEqual(["failed", "running", "running", "waiting"]);
  expect(jobs[0]!.error.value).toEqual(new Error("full"));
  started[1]!.end();
  await settle();
  expect(states(jobs)).toEqual(["failed", "done", "running", "running"]);
});

test("a job that is stopped while it waits never begins, and one that runs is aborted", async () => {
  const { started, jobs } = heldJobs(1, 3);
  jobs[1]!.stop();
  jobs[0]!.stop();
  expect(started[0]!.job.signal.aborted).toBe(true);
  started[0]!.end(new Error("aborted"));
  await settle();
  expect(states(jobs)).toEqual(["stopped", "stopped", "running"]);
  expect(started).toHaveLength(2);
});

test("jobs that are over can be forgotten, and only a few of them stay", async () => {
  const { queue, started, jobs } = heldJobs(20, 12);
  queue.dismiss(jobs[0]!);
  expect(queue.jobs.value).toHaveLength(12);
  for (const { end } of started) end();
  await settle();
  const last = queue.add("last", () => Promise.resolve());
  expect(queue.jobs.value).toEqual([...jobs.slice(-5), last]);
  queue.dismiss(jobs.at(-1)!);
  expect(queue.jobs.value).toHaveLength(5);
});

test("the speed is that of the last seconds", () => {
  const { jobs } = heldJobs(1, 1);
  const [job] = jobs;
  for (let second = 0; second <= 10; second += 0.25)
    job!.report({ value: second < 5 ? 0 : (second - 5) * 1000, max: 5000, unit: "bytes" }, second * 1000);
  expect(job!.speed.value).toBeCloseTo(1000, -1);
});

test("items are worked on a few at a time, and the first failure stops the others", async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  const work = async (item: number, signal: AbortSignal): Promise<void> => {
    most = Math.max(most, ++running);
    await settle();
    running--;
    if (item === 5) throw new Error("five");
    signal.throwIfAborted();
    done.push(item);
  };
  const { signal } = new AbortController();
  await eachOf([1, 2, 3, 4], 2, signal, work);
  expect([most, done]).toEqual([2, [1, 2, 3, 4]]);
  await expect(eachOf([5, 6, 7, 8, 9], 1, signal, work)).rejects.toThrow("five");
  expect(done).toEqual([1, 2, 3, 4]);
});

test("a brief job leaves the list when it is done, and stays if it has failed", async () => {
  const queue = new JobQueue(2);
  queue.add("done", async () => {}, { isBrief: true });
  const failed = queue.add("failed", async () => Promise.reject(new Error("full")), { isBrief: true });
  await settle();
  expect(queue.jobs.value).toEqual([failed]);
  expect(states([failed])).toEqual(["failed"]);
});

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { patiently } from "./patience.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubEnv("SSH_ASKPASS", "");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const SAYS_NOTHING = () => false;

/** Seconds until a program that never answers is given up, and what is said. */
async function givenUp(
  isAsking: (second: number) => boolean,
  {
    silenceMs,
    words = () => undefined,
  }: { silenceMs?: number; words?: (second: number) => string | undefined } = {},
): Promise<{ second: number; message: string }> {
  let second = 0;
  let warn = (_line: string): void => {};
  const ended = patiently(
    { name: "m", program: "ssh", silenceMs },
    ({ signal, logger }) => {
      warn = (line) => logger.warn(line);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    () => isAsking(second),
  ).then(
    () => "answered",
    (error: Error) => error.message,
  );
  const outcome: { message?: string } = {};
  void ended.then((text) => (outcome.message = text));
  for (; outcome.message === undefined && second < 1_000; second += 1) {
    const line = words(second);
    if (line !== undefined) warn(line);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  return { second, message: outcome.message ?? "" };
}

it("a program that says nothing is given up after 15 s", async () => {
  expect(await givenUp(SAYS_NOTHING)).toEqual({
    second: 15,
    message: "cannot reach 'm': no answer from ssh within 15s",
  });
});

it("what it said last on stderr is shown, and gives it more time", async () => {
  const ended = await givenUp(SAYS_NOTHING, {
    words: (second) => (second < 10 ? `try ${second}\n` : undefined),
  });
  expect(ended).toEqual({
    second: 24,
    message: "cannot reach 'm': no answer from ssh within 15s: try 9",
  });
});

it("a person has two minutes to type a password, and what follows has 15 s again", async () => {
  expect((await givenUp((second) => second < 100)).second).toBe(115);
  expect(await givenUp(() => true)).toEqual({
    second: 120,
    message: "cannot reach 'm': no answer from ssh within 120s",
  });
  vi.stubEnv("SSH_ASKPASS", "/usr/bin/ssh-askpass");
  expect((await givenUp(SAYS_NOTHING)).second).toBe(120);
});

it("hosts.toml can give it less, or more", async () => {
  expect((await givenUp(SAYS_NOTHING, { silenceMs: 2_000 })).second).toBe(2);
  expect((await givenUp(SAYS_NOTHING, { silenceMs: 300_000 })).second).toBe(300);
});

it("progress starts all limits again, and what to do about silence is only for a program that was always silent", async () => {
  for (const [reports, expected] of [
    [0, { seconds: 15, message: "cannot reach 'm': no answer from ssh within 15s; try this" }],
    [200, { seconds: 215, message: "cannot reach 'm': no answer from ssh within 15s" }],
  ] as const) {
    const outcome: { message?: string } = {};
    let report = (): void => {};
    void patiently(
      { name: "m", program: "ssh", silenceMs: undefined, remedy: "; try this" },
      ({ signal, progress }) => {
        report = progress;
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      SAYS_NOTHING,
    ).catch((error: Error) => (outcome.message = error.message));
    let seconds = 0;
    for (; outcome.message === undefined && seconds < 1_000; seconds += 1) {
      if (seconds <= reports && reports > 0) report();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect({ seconds, ...outcome }).toEqual(expected);
  }
});

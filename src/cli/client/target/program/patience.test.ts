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

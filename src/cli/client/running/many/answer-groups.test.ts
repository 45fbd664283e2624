import { expect, test } from "vitest";
import type { Answer } from "./answer.ts";
import { AnswerGroups } from "./answer-groups.ts";

const answer = (stdout: string, more: Partial<Answer> = {}): Answer => ({
  status: 0,
  stdout: Buffer.from(stdout),
  stderr: Buffer.alloc(0),
  omittedBytes: 0,
  ...more,
});

test("answers are equal if status, streams and error are; those of most machines come first", () => {
  const groups = new AnswerGroups();
  groups.add("e", answer("a"));
  groups.add("d", answer("a"));
  groups.add("c", answer("a", { status: 1 }));
  groups.add("b", answer("", { stderr: Buffer.from("a") }));
  groups.add("a", answer("a", { error: "no" }));
  groups.add("f", answer("a", { error: "no" }));
  expect(groups.list().map(({ names }) => names)).toEqual([["a", "f"], ["d", "e"], ["b"], ["c"]]);
});

test("beyond a limit, only the beginnings of further answers are kept, and equal ones are still found", () => {
  const groups = new AnswerGroups(100_000);
  const long = (letter: string): Answer => answer(letter.repeat(60_000));
  for (const letter of ["a", "b", "c"]) groups.add(letter, long(letter));
  groups.add("c2", long("c"));
  expect(
    groups.list().map(({ names, answer: { stdout, omittedBytes } }) => [names, stdout.length, omittedBytes]),
  ).toEqual([
    [["c", "c2"], 4096, 55_904],
    [["a"], 60_000, 0],
    [["b"], 4096, 55_904],
  ]);
});

import { expect, it } from "vitest";
import { parseDuration } from "./parse-duration.ts";

it("reads a number with a unit, and takes one without for seconds", () => {
  const texts = ["500ms", "10s", "10", "2m", "1.5h", "1d", "0", "0.25"];
  expect(texts.map(parseDuration)).toEqual([500, 10_000, 10_000, 120_000, 5_400_000, 86_400_000, 0, 250]);
});

it("anything else is no duration", () => {
  const texts = [
    "",
    " 1s",
    "1s ",
    "s",
    "-1s",
    "+1s",
    "1S",
    "1 s",
    "1m30s",
    ".5s",
    "1.s",
    "1e3",
    "0x10",
    "1w",
    "٣s",
    "1s\n",
  ];
  expect(texts.map(parseDuration)).toEqual(texts.map(() => undefined));
});

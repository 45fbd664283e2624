import { expect, it } from "vitest";
import { shownLine } from "./shown-line.ts";

const LINE = JSON.stringify({
  n: 7,
  prev: "d1c9",
  time: "2026-11-16T13:41:40.382Z",
  event: "start",
  connection: 1,
  principal: "name:ann",
  process: "p",
  argv: ["sh", "-c", "echo hi"],
  cwd: "a b",
  pid: 12,
  hash: "39b5",
});

it("shows when, who, what and the facts", () => {
  expect(shownLine(LINE, {})).toBe(
    '2026-11-16T13:41:40Z  ann           start         process=p  argv=["sh","-c","echo hi"]  cwd="a b"  pid=12\n',
  );
  expect(shownLine(LINE, { json: true })).toBe(`${LINE}\n`);
});

it("selects by client, event and time", () => {
  const isShown = (options: Parameters<typeof shownLine>[1]): boolean =>
    shownLine(LINE, options) !== undefined;
  expect([isShown({ who: "ann" }), isShown({ who: "name:ann" }), isShown({ who: "an" })]).toEqual([
    true,
    true,
    false,
  ]);
  expect([isShown({ event: ["ended", "start"] }), isShown({ event: ["ended"] })]).toEqual([true, false]);
  const time = Date.parse("2026-11-16T13:41:40.382Z");
  expect([isShown({ since: time }), isShown({ since: time + 1 })]).toEqual([true, false]);
});

it("a connection is that of its token's name", () => {
  const line = JSON.stringify({ time: "2026-11-16T13:41:40Z", event: "refused", token: "ann" });
  expect(shownLine(line, { who: "ann" })).toBe(
    "2026-11-16T13:41:40Z  ann           refused       token=ann\n",
  );
  const other = JSON.stringify({
    time: "2026-11-16T13:41:40Z",
    event: "x",
    principal: "local",
    token: "ann",
  });
  expect(shownLine(other, { who: "ann" })).toBeUndefined();
});

it("what is no line of a log is shown as it is, unless lines are selected, and controls no terminal", () => {
  expect(shownLine("\u001b[31mrubbish", {})).toBe("\\x1b[31mrubbish\n");
  expect([shownLine("[1]", {}), shownLine("[1]", { who: "ann" })]).toEqual(["[1]\n", undefined]);
  const line = JSON.stringify({ time: "t", event: "\u001b[2J", principal: "p", path: "a\nb=c" });
  expect(shownLine(line, {})).toMatch(/^t {2}p +\\x1b\[2J +path="a\\nb=c"\n$/);
});

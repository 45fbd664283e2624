import { expect, test } from "vitest";
import { formatEvent, formatHeader, parseEvent, parseHeader } from "./cast-file.ts";

test("A header is read as it was written", () => {
  const header = { version: 2, cols: 80, rows: 24 } as const;
  expect(parseHeader(formatHeader(header))).toEqual(header);
});

test("A header of version 3 has its size elsewhere", () => {
  expect(parseHeader('{"version":3,"term":{"cols":100,"rows":50}}')).toEqual({
    version: 3,
    cols: 100,
    rows: 50,
  });
});

test.each([
  "",
  "{}",
  "[]",
  "null",
  '{"version":1,"width":80,"height":24}',
  '{"version":2,"width":0,"height":24}',
])("%s is no header", (line) => expect(parseHeader(line)).toBeUndefined());

test("An event is read as it was written, with control characters and other scripts", () => {
  const event = { time: 1.25, kind: "o", data: '\u001b[31m"é\u0000\n日' };
  expect(formatEvent(event).split("\n")).toHaveLength(2);
  expect(parseEvent(formatEvent(event))).toEqual(event);
});

test.each(["", "{}", "[]", '[-1,"o","x"]', '["1","o","x"]', '[1,"o"]', '[1,2,"x"]'])(
  "%s is no event",
  (line) => expect(parseEvent(line)).toBeUndefined(),
);

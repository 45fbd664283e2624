import { expect, it } from "vitest";
import type { Report } from "./messages.ts";
import { UnheardLog } from "./unheard-log.ts";

const line = (message: string, fields?: object): Report => ({
  kind: "log",
  level: "error",
  message,
  fields: fields && { ...fields },
});

it("keeps lines of the log alone, with their time, and gives each once", () => {
  const log = new UnheardLog();
  log.add([line("a"), { kind: "state", state: { sessions: 1, runningProcesses: 0, bufferedBytes: 0 } }]);
  log.add([line("b", { reason: "none" })]);
  const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  expect(log.take()).toEqual([line("a", { at }), line("b", { reason: "none", at })]);
  expect(log.take()).toEqual([]);
});

it("forgets the oldest, and says how many", () => {
  const log = new UnheardLog();
  for (let at = 0; at < 300; at += 1) log.add([line(`${at}`)]);
  const [first, ...lines] = log.take();
  expect(first).toMatchObject({ level: "warn", fields: { lines: 44 } });
  expect(lines.map((each) => each.message)).toEqual(Array.from({ length: 256 }, (_, at) => `${at + 44}`));
  log.add([line("new")]);
  expect(log.take()).toMatchObject([{ message: "new" }]);
});

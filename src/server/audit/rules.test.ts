import { expect, it } from "vitest";
import { RULES } from "./rules.ts";

it("only what ends something, reads output or opens a session is carried out without a record", () => {
  const always = Object.entries(RULES).filter(
    ([, rule]) => rule.kind === "end" || ("always" in rule && rule.always === true),
  );
  expect(always.map(([method]) => method).sort()).toEqual([
    "command/exec/terminate",
    "fs/close",
    "initialize",
    "process/read",
    "process/snapshot",
    "process/terminate",
    "tcp/close",
  ]);
});

import { expect, it } from "vitest";
import type { FromUserServer, Happening } from "./messages.ts";
import { readUserMessage } from "./read-user-message.ts";

const request = { connection: 1, session: "s", method: "fs/readFile", tookMs: 1.5, traceparent: undefined };
const error = { code: -32600, message: "no" };
const WHO = ',"connection":3,"principal":"name:\\"ann\\""';

const HAPPENINGS: readonly Happening[] = [
  { kind: "log", level: "warn", message: "m", fields: { a: 1 } },
  { kind: "log", level: "info", message: "m", fields: undefined },
  { kind: "audit", event: "start", facts: { path: "p" }, who: WHO },
  { kind: "audit", event: "gap", facts: {}, who: "" },
  { kind: "state", state: { sessions: 1, runningProcesses: 0, bufferedBytes: 5 } },
  { kind: "answered", request, error: undefined },
  { kind: "answered", request: { ...request, session: undefined, traceparent: "t" }, error },
  { kind: "denied", request, error },
  {
    kind: "started",
    connection: 1,
    process: 2,
    facts: { processId: "p", pid: 9, argv: ["a", "b"], isConfined: true },
  },
  { kind: "ended", process: 2, end: { exitCode: 0, signal: undefined, outputBytes: 3 } },
  { kind: "ended", process: 2, end: { exitCode: undefined, signal: "SIGKILL", outputBytes: 3 } },
];

it.each<FromUserServer>([
  { kind: "ready" },
  { kind: "pong" },
  { kind: "taken" },
  { kind: "idle" },
  { kind: "drained" },
  { kind: "fault", message: "m" },
  { kind: "cordon", isCordoned: true },
  { kind: "happened", happenings: HAPPENINGS },
])("$kind is taken as it is", (message) => {
  expect(readUserMessage(JSON.stringify(message))).toEqual(message);
});

it.each([
  "",
  "{",
  "null",
  "[]",
  "1",
  '"ready"',
  "{}",
  '{"kind":"new"}',
  '{"kind":"toString"}',
  '{"kind":["ready"]}',
])("%s is not a message", (text) => {
  expect(readUserMessage(text)).toBeUndefined();
});

it.each([
  { kind: "fault" },
  { kind: "cordon", isCordoned: 1 },
  { kind: "happened" },
  { kind: "happened", happenings: {} },
  { kind: "happened", happenings: [null] },
  { kind: "happened", happenings: [{ kind: "none" }] },
])("%j is not a message", (message) => {
  expect(readUserMessage(JSON.stringify(message))).toBeUndefined();
});

it("nothing in a happening is of another type", () => {
  for (const happening of HAPPENINGS)
    for (const [path, wrong] of wrongVersions(JSON.parse(JSON.stringify(happening)))) {
      const text = JSON.stringify({ kind: "happened", happenings: [...HAPPENINGS, wrong] });
      expect(readUserMessage(text), `${happening.kind}: ${path}`).toBeUndefined();
    }
});

it.each([
  "x",
  `${WHO}\n{"n":1}`,
  `${WHO},"more":1`,
  ',"connection":-1,"principal":"a"',
  ',"connection":1,"principal":"\\x"',
  ',"connection":1,"principal":"\n"',
  ',"connection":1,"principal":1',
  ',"principal":"a","connection":1',
])("whose line it is cannot be %j", (who) => {
  const happening = { kind: "audit", event: "e", facts: {}, who };
  expect(readUserMessage(JSON.stringify({ kind: "happened", happenings: [happening] }))).toBeUndefined();
});

/** The value with one of its members replaced by null, which none of them may be, for each that is checked. */
function wrongVersions(value: unknown, path = ""): [path: string, wrong: unknown][] {
  const wrong: [string, unknown][] = [[path, null]];
  // What a line of a log holds is free.
  if (typeof value !== "object" || value === null || path === "fields") return wrong;
  for (const [name, inner] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`;
    if (at === "facts.path") continue;
    for (const [where, version] of wrongVersions(inner, at))
      wrong.push([where, Array.isArray(value) ? [version] : { ...value, [name]: version }]);
  }
  return wrong;
}

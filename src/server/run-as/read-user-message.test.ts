import { expect, it } from "vitest";
import type { FromUserServer, Report } from "./messages.ts";
import { readUserMessage } from "./read-user-message.ts";

const request = { connection: 1, session: "s", method: "fs/readFile", tookMs: 1.5, traceparent: undefined };
const error = { code: -32600, message: "no" };
const CONNECTION_AND_PRINCIPAL = ',"connection":3,"principal":"name:\\"ann\\""';

const REPORTS: readonly Report[] = [
  { kind: "log", level: "warn", message: "m", fields: { a: 1 } },
  { kind: "log", level: "info", message: "m", fields: undefined },
  { kind: "audit", event: "start", facts: { path: "p" }, who: CONNECTION_AND_PRINCIPAL },
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
  { kind: "ready", connections: 3 },
  { kind: "pong", usesNetwork: false },
  { kind: "idle" },
  { kind: "drained" },
  { kind: "fault", message: "m" },
  { kind: "cordon", isCordoned: true },
  { kind: "reports", reports: REPORTS },
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
  { kind: "reports" },
  { kind: "reports", reports: {} },
  { kind: "reports", reports: [null] },
  { kind: "reports", reports: [{ kind: "none" }] },
])("%j is not a message", (message) => {
  expect(readUserMessage(JSON.stringify(message))).toBeUndefined();
});

it("nothing in a report is of another type", () => {
  for (const report of REPORTS)
    for (const [path, wrong] of wrongVersions(JSON.parse(JSON.stringify(report)))) {
      const text = JSON.stringify({ kind: "reports", reports: [...REPORTS, wrong] });
      expect(readUserMessage(text), `${report.kind}: ${path}`).toBeUndefined();
    }
});

it.each([
  "x",
  `${CONNECTION_AND_PRINCIPAL}\n{"n":1}`,
  `${CONNECTION_AND_PRINCIPAL},"more":1`,
  ',"connection":-1,"principal":"a"',
  ',"connection":1,"principal":"\\x"',
  ',"connection":1,"principal":"\n"',
  ',"connection":1,"principal":1',
  ',"principal":"a","connection":1',
])("whose line it is cannot be %j", (who) => {
  const report = { kind: "audit", event: "e", facts: {}, who };
  expect(readUserMessage(JSON.stringify({ kind: "reports", reports: [report] }))).toBeUndefined();
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

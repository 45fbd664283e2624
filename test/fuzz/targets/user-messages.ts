import { readUserMessage } from "../../../src/server/run-as/read-user-message.ts";
import { expectTrue, type Target } from "../target.ts";

const REPORT =
  '{"kind":"reports","reports":[{"kind":"audit","event":"process","facts":{},"who":",\\"connection\\":1,\\"principal\\":\\"a\\""}]}';

/** What is accepted from the program of a user can be relied on: above all, what becomes part of an audit line. */
export const target: Target = {
  seeds: [
    '{"kind":"ready","connections":1}',
    '{"kind":"status","status":{"pid":1,"version":"1","startedAt":"x","sessions":0,"runningProcesses":0,"isAttached":false}}',
    REPORT,
    '{"kind":"reports","reports":[{"kind":"started","connection":1,"process":2,"facts":{"processId":"p","pid":3,"argv":["a"],"isConfined":true}}]}',
    '{"kind":"reports","reports":[{"kind":"answered","request":{"connection":1,"method":"m","tookMs":1.5},"error":{"code":-1,"message":"m"}},{"kind":"log","level":"warn","message":"m","fields":{}}]}',
  ],
  words: [
    '"',
    "\\",
    '\\"',
    "\\\\",
    "\\n",
    "\n",
    "\\u0022",
    ",",
    "null",
    "1e999",
    "-0",
    '"__proto__":',
    '"kind":',
  ],
  run(input) {
    const message = readUserMessage(input.toString("utf8"));
    if (message?.kind !== "reports") return;
    for (const report of message.reports) {
      if (report.kind !== "audit") continue;
      const line = `{"event":"x"${report.who}}`;
      expectTrue(!line.includes("\n"), "a report stays on its line");
      const members = JSON.parse(line) as Readonly<Record<string, unknown>>;
      const names = Object.keys(members).join();
      expectTrue(
        ["event", "event,connection,principal"].includes(names),
        "a report names a connection and a principal",
      );
      expectTrue(["undefined", "string"].includes(typeof members["principal"]), "a principal is text");
    }
  },
};

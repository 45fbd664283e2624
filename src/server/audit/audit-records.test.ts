import { beforeEach, describe, expect, it } from "vitest";
import type { WireError } from "../../protocol/envelope.ts";
import type { ObservedConnection, ObservedProcess, ObservedRequest } from "../settings/observer.ts";
import { Audit, type AuditRecords } from "./audit.ts";
import type { AuditTrouble } from "./audit-log.ts";
import { NO_LINES } from "./chain.ts";
import { plainFacts } from "./members.ts";

/** Keeps lines in memory. */
class Records {
  readonly lines: object[] = [];
  head = NO_LINES;
  printedHead = undefined;
  lost = 0;
  trouble: AuditTrouble | undefined;
  isFull = false;
  file = "audit.jsonl";
  closed = 0;

  readonly add: AuditRecords["add"] = (event, facts, who) => {
    const [known, own] = [plainFacts(who ?? ""), plainFacts(facts)].map((each) =>
      Object.fromEntries(Object.entries(each).filter(([, value]) => value !== undefined)),
    );
    this.lines.push({ event, ...known, ...own });
  };

  async close(): Promise<void> {
    this.closed += 1;
  }
}

const CONNECTION: ObservedConnection = {
  number: 7,
  from: "192.0.2.1:5",
  principal: "name:ann",
  tokenName: "ann",
  session: "abc",
  receivedBytes: 10,
  sentBytes: 20,
};
const WHO = { connection: 7, principal: "name:ann" };
const START = {
  processId: "p",
  argv: ["x", "--password=s3cret"],
  cwd: "file:///",
  env: { A: "" },
  tty: false,
};
const SHOWN = { argv: ["x", "--password=***"], cwd: "file:///", env: ["A"] };

const requestOf = (method: string): ObservedRequest => ({
  connection: CONNECTION,
  method,
  startedAtMs: 0,
  traceparent: undefined,
});
const processOf = (processId: string): ObservedProcess => ({
  connection: CONNECTION,
  processId,
  pid: 99,
  argv: ["y", "--token", "s3cret"],
  isConfined: true,
  startedAtMs: 1_000.4,
});

let records: Records;
let audit: Audit;

beforeEach(() => {
  records = new Records();
  audit = new Audit(records);
});

/** The lines of a request that was carried out, or failed. */
function linesOf(method: string, params: unknown, error?: WireError): object[] {
  const request = requestOf(method);
  const before = records.lines.length;
  audit.requested(request, params, undefined);
  audit.answered(request, error === undefined ? { result: {} } : { error });
  return records.lines.slice(before);
}

describe("while lines cannot be written", () => {
  const RECORDED = [
    "process/start",
    "process/write",
    "fs/writeFile",
    "fs/readFile",
    "fs/readBlock",
    "server/cordon",
  ];
  const ALLOWED = ["fs/close", "initialize", "process/read", "process/terminate", "process/list"];
  const vetoed = (methods: string[]) => methods.map((method) => audit.veto(requestOf(method))?.message);
  const NONE = (methods: string[]) => methods.map(() => undefined);

  it.each<[string, () => void]>([
    ["the disk fails", () => (records.trouble = { since: 0, message: "No space left on device" })],
    ["too many wait", () => (records.isFull = true)],
  ])("what would have to be recorded is refused, and what ends something is not: %s", (_, fail) => {
    expect(vetoed([...RECORDED, ...ALLOWED])).toEqual(NONE([...RECORDED, ...ALLOWED]));
    expect([audit.isFailing, audit.isRefusing]).toEqual([false, false]);
    fail();
    expect([audit.isFailing, audit.isRefusing]).toEqual([true, true]);
    expect(vetoed(RECORDED)).toEqual(
      RECORDED.map((method) => `${method}: refused, because the server's audit log cannot be written`),
    );
    expect(audit.veto(requestOf("fs/writeFile"))).toMatchObject({
      rpcCode: -32603,
      data: { code: "AUDIT_FAILED" },
    });
    expect(vetoed(ALLOWED)).toEqual(NONE(ALLOWED));
  });

  it("nothing is refused if the operator wants to continue", () => {
    audit = new Audit(records, { onFailure: "continue" });
    records.trouble = { since: 0, message: "No space left on device" };
    expect([audit.isFailing, audit.isRefusing]).toEqual([true, false]);
    expect(vetoed(RECORDED)).toEqual(NONE(RECORDED));
  });
});

it("only requests that are recorded are looked at", () => {
  const looked = ["process/start", "fs/close", "process/list", "no/such"].map((method) =>
    audit.hooksFor(method),
  );
  expect(looked).toEqual([audit, audit, undefined, undefined]);
  expect(linesOf("process/list", {})).toEqual([]);
  expect(linesOf("process/list", {}, { code: -32600, message: "no" })).toEqual([]);
});

describe("a failure has a line", () => {
  const error = { code: -32603, message: "s3cret", data: { code: "NOT_FOUND" } };

  it("with the number of the line of its request", () => {
    expect(linesOf("fs/remove", { path: "file:///a" })).toEqual([
      { event: "remove", ...WHO, request: 1, path: "file:///a" },
    ]);
    expect(linesOf("fs/remove", { path: "file:///b" }, error)).toEqual([
      { event: "remove", ...WHO, request: 2, path: "file:///b" },
      { event: "failed", ...WHO, request: 2, method: "fs/remove", code: "NOT_FOUND" },
    ]);
  });

  it("with what was to be read, or started", () => {
    expect(linesOf("fs/readFile", { path: "file:///a" }, { code: -32004, message: "s3cret" })).toEqual([
      { event: "failed", ...WHO, path: "file:///a", method: "fs/readFile", code: -32004 },
    ]);
    expect(linesOf("process/start", START, error)).toEqual([
      { event: "failed", ...WHO, process: "p", ...SHOWN, method: "process/start", code: "NOT_FOUND" },
    ]);
  });

  it("without facts for a start with an id that another start has", () => {
    const first = requestOf("process/start");
    audit.requested(first, START, undefined);
    expect(linesOf("process/start", START, error)).toEqual([
      { event: "failed", ...WHO, method: "process/start", code: "NOT_FOUND" },
    ]);
  });

  it.each(["PERMISSION_DENIED", "AUDIT_FAILED"])(
    "unless %s says that it has one, or must not have one",
    (code) => {
      const refused = requestOf("process/start");
      audit.answered(refused, { error: { code: -32600, message: "no", data: { code } } });
      expect(records.lines).toEqual([]);
      audit.answered(refused, { error });
      expect(records.lines).toHaveLength(1);
    },
  );

  it("not for requests that share a line, or end something", () => {
    expect(linesOf("fs/readBlock", { handleId: "h", offset: 0, len: 1 }, error)).toEqual([]);
    expect(linesOf("fs/close", { handleId: "h" }, error)).toEqual([]);
  });
});

it("what is forbidden is recorded with what it is about", () => {
  const denied = (method: string, params: unknown) =>
    audit.denied(requestOf(method), params, { code: -32600, message: "no right" });
  denied("process/start", START);
  denied("http/request", { method: "GET", url: "http://a/?key=s3cret", requestId: "r" });
  denied("process/write", { processId: "p", chunk: "", writeId: "w" });
  denied("process/list", {});
  const told = { event: "denied", ...WHO, reason: "no right" };
  expect(records.lines).toEqual([
    { ...told, method: "process/start", process: "p", ...SHOWN },
    { ...told, method: "http/request", url: "http://a/?key=***", headers: [], bytes: 0 },
    { ...told, method: "process/write", process: "p" },
    { ...told, method: "process/list" },
  ]);
});

describe("a process", () => {
  const ran = { event: "start", ...WHO, pid: 99, sandbox: true };

  it("is recorded when it has started, with what was asked for", () => {
    const request = requestOf("process/start");
    audit.requested(request, START, undefined);
    audit.processStarted(processOf("p"));
    audit.answered(request, { result: {} });
    expect(records.lines).toEqual([{ ...ran, process: "p", ...SHOWN }]);
  });

  it("that nobody asked for is recorded with its arguments", () => {
    audit.processStarted(processOf("q"));
    expect(records.lines).toEqual([{ ...ran, process: "q", argv: ["y", "--token", "***"] }]);
  });

  it("has its end recorded, after the rest of its input, with code or signal", () => {
    const end = { exitCode: undefined, signal: undefined, outputBytes: 5, endedAtMs: 1_250 };
    const write = { processId: "p", chunk: "eHg=", writeId: "w" };
    for (let count = 0; count < 2; count += 1) linesOf("process/write", write);
    audit.processEnded(processOf("p"), { ...end, exitCode: 0 });
    audit.processEnded(processOf("q"), { ...end, signal: "SIGKILL" });
    const ended = { event: "ended", ...WHO, pid: 99, outputBytes: 5, afterMs: 250 };
    expect(records.lines.slice(1)).toEqual([
      { event: "input", ...WHO, process: "p", requests: 1, bytes: 2 },
      { ...ended, process: "p", exitCode: 0 },
      { ...ended, process: "q", signal: "SIGKILL" },
    ]);
  });
});

it("a connection is recorded from its beginning to its end, with what it has counted", async () => {
  audit.connected(CONNECTION);
  for (let count = 0; count < 2; count += 1) linesOf("tcp/write", { tcpId: "t", chunk: "eHg=" });
  audit.disconnected(CONNECTION, "x".repeat(1_000));
  audit.disconnected({ ...CONNECTION, number: 8 }, undefined);
  expect(records.lines).toEqual([
    { event: "connect", ...WHO, token: "ann", from: "192.0.2.1:5" },
    { event: "sent", ...WHO, tcp: "t", requests: 1, bytes: 2 },
    { event: "sent", ...WHO, tcp: "t", requests: 1, bytes: 2 },
    {
      event: "disconnect",
      ...WHO,
      reason: expect.stringMatching(/^x+… \(1000 characters\)$/) as string,
      receivedBytes: 10,
      sentBytes: 20,
    },
    { event: "disconnect", ...WHO, connection: 8, receivedBytes: 10, sentBytes: 20 },
  ]);
});

it("what is only counted is recorded before the log ends", async () => {
  for (let count = 0; count < 2; count += 1) linesOf("fs/readBlock", { handleId: "h", offset: 0, len: 1 });
  for (let count = 0; count < 61; count += 1) audit.refused({ cause: "login", reason: "no", from: "x" });
  const before = records.lines.length;
  await audit.close();
  expect([records.lines.slice(before), records.closed]).toEqual([
    [
      { event: "refused", more: 1 },
      { event: "readBlocks", ...WHO, handle: "h", requests: 1 },
    ],
    1,
  ]);
});

it("a thing that is closed has its counts recorded, and starts again under the same name", () => {
  const block = { handleId: "h", offset: 0, len: 1 };
  for (let count = 0; count < 3; count += 1) linesOf("fs/readBlock", block);
  expect(linesOf("fs/close", { handleId: "h" })).toEqual([
    { event: "readBlocks", ...WHO, handle: "h", requests: 2 },
  ]);
  expect(linesOf("fs/readBlock", block)).toEqual([{ event: "readBlocks", ...WHO, handle: "h", requests: 1 }]);
});

it("a session is recorded by its name in logs when it is there", () => {
  expect(linesOf("initialize", { clientName: "c", resumeSessionId: "s3cret" })).toEqual([
    { event: "session", ...WHO, client: "c", resumes: true, session: "abc" },
  ]);
  expect(linesOf("fs/hash", { path: "file:///a" })).toEqual([{ event: "hash", ...WHO, path: "file:///a" }]);
});

it("a line of another program is added as it is", () => {
  audit.relay("start", { pid: 5 }, ',"executor":"e"');
  expect(records.lines).toEqual([{ event: "start", executor: "e", pid: 5 }]);
});

import { expect, it } from "vitest";
import type { MethodName } from "../../protocol/index.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import { type Rule, RULES } from "./rules.ts";

const PATH = { path: "file:///a" };
const BYTES: Attachment = { bytes: new Uint8Array(9), release: () => {} };
const LONG = "x".repeat(10_000);
const CUT_NAME = `${"x".repeat(256)}… (10000 characters)`;
const CUT = expect.stringMatching(/^x+… \(10000 characters\)$/) as string;

const COMMAND = { argv: ["x", "--token=s3cret"], cwd: "/", env: { A: "s3cret" } };
const SHOWN = { argv: ["x", "--token=***"], cwd: "/", env: ["A"] };

/** What a line says about a request, without undefined members, which are not written. */
function factsOf(method: MethodName, params: object, attachment?: Attachment): object {
  const rule = RULES[method] as Rule<unknown>;
  if (!("facts" in rule)) throw new Error(`${method} has no facts`);
  return JSON.parse(JSON.stringify(rule.facts(params, attachment))) as object;
}

it.each<[MethodName, object, object]>([
  ["initialize", { clientName: "c" }, { client: "c" }],
  ["initialize", { clientName: "c", resumeSessionId: "s3cret" }, { client: "c", resumes: true }],
  ["initialize", { clientName: LONG, resumeSessionId: null }, { client: CUT_NAME }],
  ["process/start", COMMAND, SHOWN],
  [
    "process/start",
    { ...COMMAND, tty: true, keep: { name: "k" }, envPolicy: {}, sandbox: {}, arg0: "y" },
    { ...SHOWN, terminal: true, name: "k", inherits: true, asksForSandbox: true, arg0: "y" },
  ],
  [
    "process/start",
    { ...COMMAND, tty: false, keep: null, envPolicy: null, sandbox: null, arg0: null },
    SHOWN,
  ],
  ["process/signal", { processId: "p", signal: "SIGINT" }, { process: "p", signal: "SIGINT" }],
  ["process/terminate", { processId: "p" }, { process: "p" }],
  ["process/terminate", { processId: LONG, mode: "graceful" }, { process: CUT, mode: "graceful" }],
  ["process/attach", { sessionId: "s3cret", processId: "p" }, { process: "p", mode: "follow" }],
  [
    "process/attach",
    { name: "n", owner: "name:ann", processId: null, mode: "control" },
    { name: "n", owner: "name:ann", mode: "control" },
  ],
  ["environmentConfig/read", { cwd: "/" }, { path: "/" }],
  ["capabilities/discoverV2", { cwd: "/" }, { path: "/" }],
  ["capabilityRoots/discoverV1", { roots: [{ path: "/a" }, { path: LONG }] }, { paths: ["/a", CUT] }],
  ["console/link", {}, {}],
  ["server/audit", {}, {}],
  ["server/cordon", { cordoned: true }, { cordoned: true }],
  ["fs/readFile", PATH, PATH],
  ["fs/hash", PATH, PATH],
  ["fs/readDirectory", PATH, PATH],
  ["fs/walk", PATH, PATH],
  ["fs/open", { ...PATH, handleId: "h" }, { ...PATH, handle: "h", mode: "read" }],
  ["fs/open", { ...PATH, handleId: "h", mode: "write" }, { ...PATH, handle: "h", mode: "write" }],
  ["fs/openPart", { ...PATH, handleId: "h" }, { ...PATH, handle: "h", mode: "part" }],
  ["fs/writeFile", { path: LONG, dataBase64: "eHg=" }, { path: CUT, bytes: 2 }],
  ["fs/createDirectory", PATH, PATH],
  ["fs/remove", PATH, PATH],
  ["fs/copy", { sourcePath: "a", destinationPath: "b" }, { path: "a", to: "b" }],
  ["fs/rename", { from: "a", to: "b" }, { path: "a", to: "b" }],
  ["fs/chmod", { ...PATH, mode: 0o644 }, { ...PATH, mode: 0o644 }],
  ["fs/symlink", { ...PATH, target: "t" }, { ...PATH, target: "t" }],
  ["fs/watch", PATH, PATH],
  [
    "http/request",
    { method: "GET", url: "http://u:s3cret@a/?k=s3cret" },
    { method: "GET", url: "http://a/?k=***", headers: [], bytes: 0 },
  ],
  [
    "http/request",
    { method: LONG, url: "http://a/", headers: [{ name: "Cookie", value: "s3cret" }], bodyBase64: "eA==" },
    { method: CUT, url: "http://a/", headers: ["cookie"], bytes: 1 },
  ],
  ["tcp/connect", { tcpId: "t", host: "h", port: 80 }, { tcp: "t", host: "h", port: 80 }],
  ["unix/connect", { tcpId: "t", path: LONG }, { tcp: "t", path: CUT }],
  ["tcp/listen", { listenId: "l", port: 0 }, { listener: "l", port: 0 }],
  ["tcp/listen", { listenId: "l", host: "h", port: 80 }, { listener: "l", host: "h", port: 80 }],
  ["unix/listen", { listenId: "l", path: LONG }, { listener: "l", path: CUT }],
  ["tcp/accept", { listenId: LONG, tcpId: "t" }, { listener: CUT, tcp: "t" }],
  ["command/exec", { ...COMMAND, tty: false }, SHOWN],
  ["command/exec", { ...COMMAND, tty: true, arg0: "y" }, { ...SHOWN, terminal: true, arg0: "y" }],
  ["command/exec/terminate", { sessionId: "s" }, { process: "s" }],
])("%s with %j tells %j", (method, params, facts) => {
  expect(factsOf(method, params)).toEqual(facts);
});

it("bytes that were sent beside a request are counted", () => {
  expect(factsOf("fs/writeFile", { ...PATH, dataBase64: "" }, BYTES)).toEqual({ ...PATH, bytes: 9 });
  expect(factsOf("http/request", { method: "PUT", url: "http://a/" }, BYTES)).toMatchObject({ bytes: 9 });
});

it.each([
  [32, undefined],
  [33, 1],
])("of %i roots that are looked at, this many are only counted: %j", (count, more) => {
  const roots = Array.from({ length: count }, (_, index) => ({ path: `/${index}` }));
  const facts = factsOf("capabilityRoots/discoverV1", { roots }) as { paths: string[]; more?: number };
  expect([facts.paths.length, facts.more]).toEqual([32, more]);
});

it.each<[MethodName, object, string, [string, string], number | undefined]>([
  ["process/read", { processId: "p" }, "output", ["process", "p"], 0],
  ["process/snapshot", { processId: "p" }, "output", ["process", "p"], 0],
  ["process/write", { processId: "p", chunk: "eHg=" }, "input", ["process", "p"], 2],
  ["command/exec/write", { sessionId: "s", chunk: "eHg=" }, "input", ["process", "s"], 2],
  ["fs/readBlock", { handleId: "h" }, "readBlocks", ["handle", "h"], undefined],
  ["fs/writeBlock", { handleId: "h", chunk: "eHg=" }, "writeBlocks", ["handle", "h"], 2],
  ["tcp/read", { tcpId: "t" }, "received", ["tcp", "t"], undefined],
  ["tcp/write", { tcpId: "t", chunk: "eHg=" }, "sent", ["tcp", "t"], 2],
])("%s with %j counts for %s of %j, with bytes of its own: %j", (method, params, event, thing, bytes) => {
  const rule = RULES[method] as Extract<Rule<unknown>, { kind: "tally" }>;
  expect([rule.kind, rule.event, rule.of(params), rule.bytes?.(params, undefined)]).toEqual([
    "tally",
    event,
    thing,
    bytes,
  ]);
});

it.each<[MethodName, object, [string, string]]>([
  ["fs/close", { handleId: "h" }, ["handle", "h"]],
  ["tcp/close", { tcpId: "t" }, ["tcp", "t"]],
])("%s with %j ends the counts of %j", (method, params, thing) => {
  const rule = RULES[method] as Extract<Rule<unknown>, { kind: "end" }>;
  expect([rule.kind, rule.of(params)]).toEqual(["end", thing]);
});

it("only what ends something, reads output or opens a session is carried out without a record", () => {
  const always = Object.entries(RULES).filter(
    ([, rule]) => rule.kind === "end" || ("always" in rule && rule.always),
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

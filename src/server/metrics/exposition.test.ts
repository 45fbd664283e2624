import { expect, it } from "vitest";
import type {
  ObservedAnswer,
  ObservedConnection,
  ObservedProcess,
  ObservedRequest,
} from "../settings/observer.ts";
import type { ServerState } from "../settings/server-state.ts";
import { type AuditFigures, Exposition } from "./exposition.ts";
import { ServerMetrics } from "./server-metrics.ts";

const STATE: ServerState = {
  connections: 2,
  sessions: 3,
  runningProcesses: 4,
  bufferedBytes: 5,
  isDraining: true,
  isCordoned: true,
  limits: { max_connections: 100 },
};

const connection = (receivedBytes: number, sentBytes: number): ObservedConnection => ({
  number: 1,
  from: "unix",
  principal: "user:me",
  tokenName: undefined,
  session: undefined,
  receivedBytes,
  sentBytes,
});
const request = (method: string, msAgo: number): ObservedRequest => ({
  connection: connection(0, 0),
  method,
  startedAtMs: performance.now() - msAgo,
  traceparent: undefined,
});
const started = (isConfined: boolean): ObservedProcess => ({
  connection: connection(0, 0),
  processId: "p",
  pid: 1,
  argv: ["true"],
  isConfined,
  startedAtMs: performance.now() - 20_000,
});

function answer(metrics: ServerMetrics, request: ObservedRequest, answer: ObservedAnswer): void {
  metrics.hooksFor(request.method).timed?.(request.startedAtMs, answer.error);
}

/** Lines of our own families, without their comments. */
async function scrape(metrics: ServerMetrics, audit?: AuditFigures): Promise<string[]> {
  const text = await new Exposition(metrics, () => STATE, audit).text();
  return text.split("\n").filter((line) => line.startsWith("exec_server_"));
}

it("the state, the limits and all counts have a line", async () => {
  const metrics = new ServerMetrics();
  const [one, other] = [connection(10, 20), connection(100, 200)];
  metrics.connected(one);
  metrics.connected(other);
  metrics.disconnected(one);
  metrics.refused({ cause: "login", reason: "no token", from: "127.0.0.1:1" });
  metrics.denied(request("fs/writeFile", 0));
  metrics.processStarted(started(true));
  metrics.processStarted(started(false));
  const endedAtMs = performance.now();
  metrics.processEnded(started(false), { exitCode: 0, signal: undefined, outputBytes: 7, endedAtMs });
  metrics.processEnded(started(false), { exitCode: undefined, signal: "SIGKILL", outputBytes: 8, endedAtMs });
  const lines = await scrape(metrics);
  for (const line of [
    "connections 2",
    "sessions 3",
    "processes_running 4",
    "buffered_bytes 5",
    "draining 1",
    "cordoned 1",
    'limit{limit="max_connections"} 100',
    "connections_accepted_total 2",
    'connections_refused_total{cause="login"} 1',
    "received_bytes_total 110",
    "sent_bytes_total 220",
    'requests_denied_total{method="fs/writeFile"} 1',
    'processes_started_total{sandbox="yes"} 1',
    'processes_started_total{sandbox="no"} 1',
    'processes_ended_total{end="zero"} 1',
    'processes_ended_total{end="signal"} 1',
    "process_output_bytes_total 15",
    'process_duration_seconds_bucket{le="10"} 0',
    'process_duration_seconds_bucket{le="30"} 2',
    "process_duration_seconds_count 2",
  ])
    expect(lines).toContain(`exec_server_${line}`);
});

it("answers are counted by method, class of duration and code", async () => {
  const metrics = new ServerMetrics();
  answer(metrics, request("process/start", 400), { result: {} });
  answer(metrics, request("process/start", 20_000), {
    error: { code: -32011, message: "full", data: { code: "LIMIT_REACHED", limit: "maxProcesses" } },
  });
  const lines = await scrape(metrics);
  const labels = 'method="process/start"';
  for (const line of [
    `request_duration_seconds_bucket{${labels},le="0.3"} 0`,
    `request_duration_seconds_bucket{${labels},le="10"} 1`,
    `request_duration_seconds_bucket{${labels},le="+Inf"} 2`,
    `request_duration_seconds_count{${labels}} 2`,
    `request_errors_total{${labels},code="-32011"} 1`,
    'limits_reached_total{limit="maxProcesses"} 1',
  ])
    expect(lines).toContain(`exec_server_${line}`);
});

it("methods that clients invent share one line", async () => {
  const metrics = new ServerMetrics();
  for (let index = 0; index < 1000; index += 1)
    answer(metrics, request(`x/${index}"\n`, 0), { error: { code: -32601, message: "no" } });
  const counts = (await scrape(metrics)).filter((line) => line.includes("_duration_seconds_count{"));
  expect(counts).toEqual(['exec_server_request_duration_seconds_count{method="unknown"} 1000']);
});

it("the answer is OpenMetrics, with figures of the program and its event loop", async () => {
  const exposition = new Exposition(new ServerMetrics(), () => STATE);
  expect(exposition.contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  const text = await exposition.text();
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(text).toContain("\nnodejs_eventloop_lag_p99_seconds ");
  expect(text).toContain("\nprocess_open_fds ");
  expect(await exposition.text()).toContain("exec_server_connections 2");
});

it("an audit log has its lines, its losses, and the last head that was logged, which is one series until the next", async () => {
  const [logged, now] = ["a", "b"].map((digit) => digit.repeat(64));
  const audit = {
    head: { line: 12, hash: now! },
    printedHead: { line: 10, hash: logged! },
    lost: 3,
    isFailing: true,
  };
  const ofAudit = (lines: string[]): string[] => lines.filter((line) => line.includes("audit"));
  expect(ofAudit(await scrape(new ServerMetrics(), audit))).toEqual([
    "exec_server_audit_lines_total 12",
    "exec_server_audit_lines_lost_total 3",
    "exec_server_audit_failing 1",
    `exec_server_audit_head{hash="${logged}"} 10`,
  ]);
  const unlogged = await scrape(new ServerMetrics(), { ...audit, printedHead: undefined, isFailing: false });
  expect(ofAudit(unlogged).slice(2)).toEqual(["exec_server_audit_failing 0"]);
  expect(ofAudit(await scrape(new ServerMetrics()))).toEqual([]);
});

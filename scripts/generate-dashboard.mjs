// `npm run docs`: deploy/grafana/exec-server.json, the Grafana dashboard, from the list of its panels.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FILE = fileURLToPath(new URL("../deploy/grafana/exec-server.json", import.meta.url));
const COLUMNS = 3;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;
const only = '{instance=~"$instance"}';
const rate = (name, by) =>
  `sum${by ? ` by (${by})` : ""} (rate(exec_server_${name}${only}[$__rate_interval]))`;
const quantile = (share, name, by) =>
  `histogram_quantile(${share}, sum by (${["le", by].filter(Boolean).join(", ")}) (rate(exec_server_${name}_bucket${only}[$__rate_interval])))`;

/** Each query with what its lines are called. */
const PANELS = [
  [
    "Connections and sessions",
    "short",
    { [`exec_server_connections${only}`]: "connections", [`exec_server_sessions${only}`]: "sessions" },
  ],
  ["Running processes", "short", { [`exec_server_processes_running${only}`]: "{{instance}}" }],
  ["Starts", "ops", { [rate("processes_started_total", "sandbox")]: "sandbox: {{sandbox}}" }],
  ["Ends", "ops", { [rate("processes_ended_total", "end")]: "{{end}}" }],
  ["Requests", "reqps", { [rate("request_duration_seconds_count", "method")]: "{{method}}" }],
  ["Time to answer (99 %)", "s", { [quantile(0.99, "request_duration_seconds", "method")]: "{{method}}" }],
  ["Errors", "reqps", { [rate("request_errors_total", "method, code")]: "{{method}} {{code}}" }],
  [
    "Denied, refused, limits reached",
    "ops",
    {
      [rate("requests_denied_total", "method")]: "denied {{method}}",
      [rate("connections_refused_total", "cause")]: "refused: {{cause}}",
      [rate("limits_reached_total", "limit")]: "limit {{limit}}",
    },
  ],
  ["Bytes", "Bps", { [rate("received_bytes_total")]: "received", [rate("sent_bytes_total")]: "sent" }],
  [
    "Memory for clients",
    "bytes",
    {
      [`exec_server_buffered_bytes${only}`]: "used",
      'exec_server_limit{limit="max_buffered_bytes",instance=~"$instance"}': "limit",
    },
  ],
  [
    "Audit log",
    "short",
    {
      [`exec_server_audit_failing${only}`]: "cannot be written: {{instance}}",
      [rate("audit_lines_lost_total")]: "lost lines per second",
    },
  ],
  ["Delay of the event loop (99 %)", "s", { [`nodejs_eventloop_lag_p99_seconds${only}`]: "{{instance}}" }],
  [
    "Memory, processor",
    "short",
    {
      [`process_resident_memory_bytes${only}`]: "memory {{instance}}",
      [`rate(process_cpu_seconds_total${only}[$__rate_interval])`]: "cores {{instance}}",
    },
  ],
];

const datasource = { type: "prometheus", uid: "${datasource}" };
const dashboard = {
  title: "exec-server",
  uid: "exec-server",
  schemaVersion: 39,
  editable: true,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  templating: {
    list: [
      { name: "datasource", type: "datasource", query: "prometheus" },
      {
        name: "instance",
        type: "query",
        datasource,
        query: "label_values(exec_server_connections, instance)",
        multi: true,
        includeAll: true,
        current: { text: "All", value: "$__all" },
      },
    ],
  },
  panels: PANELS.map(([title, unit, queries], index) => ({
    id: index + 1,
    title,
    type: "timeseries",
    datasource,
    gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(queries).map(([expr, legendFormat], target) => ({
      refId: String.fromCharCode(65 + target),
      datasource,
      expr,
      legendFormat,
    })),
  })),
};

const text = `${JSON.stringify(dashboard, null, 2)}\n`;
if (!process.argv.includes("--check")) writeFileSync(FILE, text);
else if (readFileSync(FILE, "utf8") !== text) {
  console.error("deploy/grafana/exec-server.json is out of date: run npm run docs");
  process.exitCode = 1;
}

import { expect, test } from "vitest";
import { parseMetrics } from "./parse-metrics.ts";

test("samples are found by name, and added up over their labels", () => {
  const text = `# HELP exec_server_connections Open connections.
# TYPE exec_server_connections gauge
exec_server_connections 3
# TYPE exec_server_sent_bytes counter
exec_server_sent_bytes_total{kind="a"} 1.5e3
exec_server_sent_bytes_total{kind="b",other="x"} 500
process_cpu_seconds_total 0.25
# EOF
`;
  expect(Object.fromEntries(parseMetrics(text))).toEqual({
    exec_server_connections: 3,
    exec_server_sent_bytes_total: 2000,
    process_cpu_seconds_total: 0.25,
  });
});

test("what is no sample is passed over", () => {
  expect(parseMetrics("\n\0\nhello world\n{} 1\n").size).toBe(0);
});

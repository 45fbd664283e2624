import { expect, test } from "vitest";
import { FIGURES, MetricHistory, parseMetrics } from "./metric-history.ts";

const figure = (metric: string) => FIGURES.find((each) => each.metric === metric)!;
const scrape = (cpu: number, connections: number): string =>
  `process_cpu_seconds_total ${cpu}\nexec_server_connections ${connections}\n`;

test("counters become rates, gauges stay as they are, and a restart is no negative rate", () => {
  const history = new MetricHistory();
  history.add(scrape(1, 2), 1000);
  expect(history.of(figure("exec_server_connections")).values).toEqual([]);
  history.add(scrape(1.5, 3), 3000);
  history.add(scrape(0, 1), 5000);
  expect(history.of(figure("process_cpu_seconds_total"))).toEqual({ times: [3, 5], values: [25, 0] });
  expect(history.of(figure("exec_server_connections")).values).toEqual([3, 1]);
});

test("the oldest samples are forgotten", () => {
  const history = new MetricHistory();
  for (let index = 0; index < 400; index++) history.add(scrape(index, index), 1000 * index);
  const { times, values } = history.of(figure("exec_server_connections"));
  expect([times.length, values.length, values.at(-1)]).toEqual([300, 300, 399]);
});

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

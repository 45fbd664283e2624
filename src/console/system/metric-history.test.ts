import { expect, test } from "vitest";
import { FIGURES, MetricHistory } from "./metric-history.ts";

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

import type { Result } from "../../client/browser.ts";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { usePolled } from "../ui/use-polled.ts";
import { Chart, type Figure } from "./chart.tsx";

const EVERY_MS = 5000;

const FIGURES: readonly (Figure & { readonly name: keyof Result<"server/metrics"> })[] = [
  { title: "Requests per second", name: "requestsPerSecond" },
  { title: "Errors per second", name: "errorsPerSecond" },
  { title: "Sent per second", name: "sentBytesPerSecond", unit: "bytes" },
  { title: "Running processes", name: "runningProcesses" },
  { title: "Connections", name: "connections" },
  { title: "Sessions", name: "sessions" },
  { title: "Server CPU", name: "cpuPercent", unit: "percent" },
  { title: "Event loop in use", name: "eventLoopPercent", unit: "percent" },
  { title: "Server memory", name: "memoryBytes", unit: "bytes" },
  { title: "Buffered for clients", name: "bufferedBytes", unit: "bytes" },
];

/** Charts of the server's last hour. */
export function Metrics() {
  const host = useHost();
  const isSupported = host.supports("server/metrics");
  const polled = usePolled(
    async (signal) => (isSupported ? await host.request("server/metrics", null, { signal }) : undefined),
    { everyMs: EVERY_MS, deps: [host] },
  );
  const { value, error } = polled.value;
  if (!isSupported)
    return (
      <EmptyState icon="system" title="No metrics here" text="This server does not record its metrics." />
    );
  if (value === undefined) return <Failure error={error} />;
  return (
    <div class="system-charts">
      {FIGURES.map((figure) => (
        <Chart key={figure.name} figure={figure} atMs={value.atMs} values={value[figure.name]} />
      ))}
    </div>
  );
}

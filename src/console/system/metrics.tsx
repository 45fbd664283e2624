import { useMemo } from "preact/hooks";
import { storedSecret } from "../connection/access.ts";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { Chart } from "./chart.tsx";
import { FIGURES, MetricHistory } from "./metric-history.ts";
import { usePolled } from "../ui/use-polled.ts";

const EVERY_MS = 2000;

/** The server was started without metrics. */
class NoMetrics extends Error {}

/** Charts of `/metrics` since the view was opened. */
export function Metrics() {
  const host = useHost();
  const history = useMemo(() => new MetricHistory(), [host]);
  const polled = usePolled(
    async (signal) => {
      history.add(await scrape(signal), Date.now());
      return {};
    },
    { everyMs: EVERY_MS, deps: [history] },
  );
  const { value, error } = polled.value;
  if (error instanceof NoMetrics)
    return (
      <EmptyState
        icon="system"
        title="Metrics are off on this server"
        text={
          <>
            Start it with <code>--metrics</code>, and they are drawn here and answered at{" "}
            <code>/metrics</code>.
          </>
        }
      />
    );
  if (error !== undefined) return <Failure error={error} />;
  return (
    <div class="system-charts">
      {FIGURES.map((figure) => (
        <Chart key={figure.metric} figure={figure} history={history} version={value} />
      ))}
    </div>
  );
}

async function scrape(signal: AbortSignal): Promise<string> {
  const headers = { authorization: `Bearer ${storedSecret() ?? ""}` };
  const response = await fetch("/metrics", { headers, signal });
  if (response.status === 404 || response.status === 400) throw new NoMetrics();
  if (!response.ok)
    throw new Error((await response.text()) || `the server answered ${response.status} to /metrics`);
  return await response.text();
}

import type { Page } from "../../transport/websocket/http-pages.ts";
import type { Credential } from "../access/credential.ts";
import type { Preset } from "../settings/presets.ts";
import type { ObservedServer } from "./server.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { sharedCalls } from "../wire/shared-calls.ts";

/**
 * The page for scrapers. Only servers that have it load the code that formats it. `localPreset` is that of clients
 * without authentication.
 */
export async function metricsPage(
  metrics: ServerMetrics,
  server: Pick<ObservedServer, "state" | "audit">,
  localPreset: Preset,
): Promise<Page> {
  const { Exposition } = await import("../metrics/exposition.ts");
  const exposition = new Exposition(metrics, () => server.state(), server.audit);
  // A scrape takes milliseconds, and a client can request thousands at once.
  const text = sharedCalls(() => exposition.text());
  return {
    isProtected: true,
    refuse: (credential) =>
      refuseScrape((credential as Credential | undefined)?.rights.preset ?? localPreset),
    answer: async () => ({ status: 200, contentType: exposition.contentType, body: await text() }),
  };
}

/** A client that may see only some files, or a sandbox, must not see the figures of all clients. */
function refuseScrape(preset: Preset): string | undefined {
  if (preset === "full" || preset === "observe") return undefined;
  return `the preset ${preset} may not read the metrics; full and observe may`;
}

import type { Page } from "../../transport/websocket/http-pages.ts";
import type { Server } from "../server.ts";
import type { ServerMetrics } from "./server-metrics.ts";

/** The page for scrapers. What formats it is loaded only by servers that have it. */
export async function metricsPage(metrics: ServerMetrics, server: Pick<Server, "state">): Promise<Page> {
  const { Exposition } = await import("./exposition.ts");
  const exposition = new Exposition(metrics, () => server.state());
  return {
    isProtected: true,
    answer: async () => ({
      status: 200,
      contentType: exposition.contentType,
      body: await exposition.text(),
    }),
  };
}

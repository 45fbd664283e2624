import type { Link } from "../../rpc/link.ts";
import type { ProcessRoute } from "./process-route.ts";
import { within } from "../../base/deadlines.ts";

/** How long closing waits for the next event of the processes that it ends. */
const QUIET_MS = 1_000;
/** How long it waits in all while events keep coming. */
const DEADLINE_MS = 10_000;

/**
 * Kills processes and lets their readers have what they still wrote, and the end. What does not come to its end then, because somebody outside holds its output open or the server
 * does not answer, is left.
 */
export async function endProcesses(link: Link, routes: readonly ProcessRoute[]): Promise<void> {
  const ends = routes.map(async (route) => {
    await link.request("process/terminate", { processId: route.processId });
    await route.closed;
  });
  const ended = Promise.allSettled(ends).then(() => true);
  const deadline = performance.now() + DEADLINE_MS;
  const progress = (): number => routes.reduce((sum, route) => sum + route.wake, 0);
  for (let before = -1; progress() > before && performance.now() < deadline; ) {
    before = progress();
    if (await within(ended, QUIET_MS, () => new Error("late")).catch(() => false)) return;
  }
}

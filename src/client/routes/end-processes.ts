import type { Link } from "../../rpc/link.ts";
import type { ProcessRoute } from "./process-route.ts";
import { within } from "../../base/deadlines.ts";

/**
 * `close` gives up when this many checks in a row have seen no event of the processes it ends: after a second, but not
 * because this machine stood still, which is one check.
 */
const QUIET_CHECKS = 20;
const CHECK_MS = 50;
/** How long it waits in total while events keep arriving. */
const DEADLINE_MS = 10_000;

/**
 * Kills processes and lets their readers receive the remaining output and the end. Gives up on a process that does not
 * end, because something else keeps its output open or the server does not answer.
 */
export async function endProcesses(link: Link, routes: readonly ProcessRoute[]): Promise<void> {
  const ends = routes.map(async (route) => {
    await link.request("process/terminate", { processId: route.processId });
    await route.closed;
  });
  const ended = Promise.allSettled(ends).then(() => true);
  const deadline = performance.now() + DEADLINE_MS;
  const progress = (): number => routes.reduce((sum, route) => sum + route.wake, 0);
  for (let quiet = 0; quiet < QUIET_CHECKS && performance.now() < deadline; ) {
    const before = progress();
    if (await within(ended, CHECK_MS, () => new Error("late")).catch(() => false)) return;
    quiet = progress() > before ? 0 : quiet + 1;
  }
}

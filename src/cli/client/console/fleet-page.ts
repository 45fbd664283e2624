import { messageOf } from "../../../base/errors.ts";
import { shownUrl } from "../../../base/shown-url.ts";
import type { Fleet } from "../../../client/host/fleet.ts";
import type { OpenTransport } from "../../../client/link/connectors.ts";
import { Failure } from "../../shared/failure.ts";
import { fleetFailure } from "../target/fleet-failure.ts";
import type { NamedFleet } from "../target/target.ts";
import { feedPage } from "./fleet-feed.ts";
import { carriedTo, type LocalPage, serveLocalPage } from "./local-page.ts";

/** Each takes a port. */
const MAX_MACHINES = 200;

/**
 * Serves a page on this machine that shows a fleet. Each machine that is opened from there gets a page on its own port:
 * what one machine does to its page must not affect another's.
 */
export async function serveFleetPage(
  named: NamedFleet,
  fleet: Fleet,
  transportsTo: (id: string) => OpenTransport,
  port: number | undefined,
): Promise<LocalPage> {
  const { name, address } = named;
  const pages = new Map<string, Promise<LocalPage>>();
  const open = async (id: string): Promise<string> => {
    const known = pages.get(id);
    if (known !== undefined) return (await known).link();
    if (pages.size >= MAX_MACHINES)
      throw new Failure(
        `this program serves the pages of ${MAX_MACHINES} machines already; 'exec-server open -H ${name}/${id}' opens another`,
      );
    const server = transportsTo(id);
    const opening = serveLocalPage(carriedTo(server), {
      server,
      name: `${name}/${id}`,
      command: `exec-server -H ${name}/${id} open`,
    });
    pages.set(id, opening);
    opening.catch(() => pages.delete(id));
    return (await opening).link();
  };
  const servers = [address.servers].flat().map(shownUrl).join(",");
  const explain = (error: unknown): string => messageOf(fleetFailure(error, named));
  const source = { name, servers, fleet, open, explain };
  return await serveLocalPage((connection) => feedPage(connection, source), {
    name,
    command: `exec-server -H ${name} open`,
    index: "fleet.html",
    port,
  });
}

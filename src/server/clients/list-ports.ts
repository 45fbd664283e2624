import { type ListeningSockets, programName } from "../../capabilities/host/listening-sockets.ts";
import { inSlices } from "../../capabilities/process/slices.ts";
import type { MachineUsage } from "../../capabilities/process/usage/machine-usage.ts";
import type { ListeningPort } from "../../protocol/process-extensions.ts";
import type { Party } from "../access/credential.ts";
import { modeFor } from "../sessions/kept-access.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";

const MAX_PORTS = 1_024;

export interface PortSources {
  readonly sessions: Pick<SessionRegistry, "withinReachOf">;
  readonly kept: Pick<KeptProcesses, "visibleTo">;
  readonly machine: MachineUsage;
  readonly sockets: Pick<ListeningSockets, "of">;
}

type Started = Pick<ListeningPort, "processId" | "own" | "name" | "owner">;

/** The ports on which a client's processes listen, by number. One that a program opened for IPv4 and IPv6 counts once. */
export async function listPorts(
  client: Party & { readonly session: Session },
  { sessions, kept, machine, sockets }: PortSources,
): Promise<ListeningPort[]> {
  const members: { readonly pid: number; readonly started: Started }[] = [];
  const add = ({ process }: ProcessEntry, started: Started): void => {
    for (const pid of process.members(machine)) members.push({ pid, started });
  };
  for (const session of sessions.withinReachOf(client))
    for (const [processId, entry] of session.processes)
      add(entry, { processId, own: session === client.session });
  for (const { name, owner, entry } of kept.visibleTo(client))
    if (modeFor(client, owner, entry) === "control") add(entry, { processId: name, own: false, name, owner });
  const ports = new Map<string, ListeningPort>();
  await inSlices(members, ({ pid, started }) => {
    // Read once for a process: it may listen on thousands of ports.
    let program: string | undefined;
    for (const { port, host } of sockets.of(pid)) {
      const key = `${port} ${started.owner ?? ""} ${started.processId}`;
      const known = ports.get(key);
      if (known === undefined ? ports.size < MAX_PORTS : known.host === "::1" && host !== "::1")
        ports.set(key, { port, host, pid, program: (program ??= programName(pid)), ...started });
    }
  });
  return Array.from(ports.values()).toSorted((one, other) => one.port - other.port);
}

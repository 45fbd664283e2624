import { defined } from "../../shared/defined.ts";
import { socketUrl } from "../../../base/socket-url.ts";
import { transportsTo } from "../../../client/host/connect.ts";
import { observed } from "../../../client/link/observed-transport.ts";
import { type Purpose, showMessage, targetAt } from "./connect-target.ts";
import { connectOwn } from "./own-server/connect-own.ts";
import { ownServerPaths } from "./own-server/own-server-paths.ts";
import { silentLogger } from "../../../base/logger.ts";
import { startPreparedChild } from "../../../transport/prepared-child.ts";
import { bringing } from "./program/bring/bring.ts";
import { keptCommand } from "./program/kept-command.ts";
import { serverChild, type ServerProgram } from "./program/server-child.ts";
import { resolveTarget } from "./resolve-target.ts";
import type { Transport } from "../../../transport/transport.ts";
import type { Target } from "./target.ts";
import type { TargetOptions } from "./target-options.ts";

/** Opens transports to one server; `resumable` if a lost one can be replaced by another to the same server. */
type Transports = ReturnType<typeof transportsTo>;

/** Transports to the server that the options and the environment name. */
export async function targetTransports(options: TargetOptions): Promise<Transports> {
  return transportsOf(await resolveTarget(options), options, "session");
}

/** The same for a server that has been found. */
export async function transportsOf(
  target: Target,
  { debug }: Pick<TargetOptions, "debug">,
  purpose: Purpose,
): Promise<Transports> {
  const { open, resumable } = await transports(target, purpose);
  if (debug !== true) return { open, resumable };
  return { open: async (signal) => observed(await open(signal), showMessage), resumable };
}

async function transports(target: Target, purpose: Purpose): Promise<Transports> {
  switch (target.kind) {
    case "own":
      // Starts the server if necessary.
      await (await connectOwn({})).close();
      return transportsTo(socketUrl(ownServerPaths().socket), {});
    case "url": {
      const { url, kind: _kind, name: _name, ...more } = target;
      return transportsTo(await targetAt(url), more);
    }
    case "executor": {
      const { fleet, id, token } = target;
      return transportsTo({ fleet: fleet.address, id }, defined({ token }));
    }
    case "program": {
      if (target.brings === true) return bringingTransports(target, purpose);
      const kept = purpose === "kept" ? keptCommand(target.command) : undefined;
      return transportsTo(serverChild(target, kept ?? target.command), {});
    }
  }
}

function bringingTransports(program: ServerProgram, purpose: Purpose): Transports {
  const open = (signal: AbortSignal): Promise<Transport> => {
    const { command, prepare } = bringing(program.name, program.command, purpose === "kept");
    return startPreparedChild({ ...serverChild(program, command), logger: silentLogger }, (pipes) =>
      prepare(pipes, { signal, onStep: () => {} }),
    );
  };
  return { open, resumable: false };
}

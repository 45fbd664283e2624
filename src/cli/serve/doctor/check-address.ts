import { once } from "node:events";
import { createServer } from "node:net";
import { basename } from "node:path";
import { ConnectionError, messageOf } from "../../../base/errors.ts";
import { portHolder, type PortHolder } from "../../../capabilities/host/port-holder.ts";
import { formatListenUrl, type ListenAddress } from "../../../server/serve/listen-address.ts";
import { bindUnixSocket } from "../../../transport/websocket/unix-socket.ts";
import { type Check, failed, passed } from "./check.ts";

const NAME = "address";

/** Whether a server can listen there: for a moment, this program does. Undefined where nothing has to be free. */
export async function checkAddress(address: ListenAddress): Promise<Check | undefined> {
  if (address.kind === "unix") return checkSocket(address.path);
  if (address.kind !== "websocket" || address.port === 0 || address.fd !== undefined) return undefined;
  const shown = formatListenUrl(address);
  const server = createServer();
  try {
    server.listen({ host: address.host, port: address.port });
    await once(server, "listening");
    return passed(NAME, `${shown} is free`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return taken(shown, await portHolder(address.port));
    if (code === "EACCES")
      return failed(
        NAME,
        `this user may not listen on ${shown}`,
        "choose a port from 1024 on, or give the server CAP_NET_BIND_SERVICE",
      );
    if (code === "EADDRNOTAVAIL")
      return failed(
        NAME,
        `this machine does not have the address ${address.host}`,
        "listen on one that 'ip address' shows, or on 0.0.0.0 for all of them",
      );
    return failed(NAME, `cannot listen on ${shown}: ${messageOf(error)}`);
  } finally {
    server.close();
  }
}

function taken(shown: string, holder: PortHolder | undefined): Check {
  if (holder?.argv !== undefined && isExecServer(holder.argv))
    return passed(NAME, `an exec-server listens on ${shown} already, as process ${holder.pid}`);
  return failed(
    NAME,
    `${shown} is taken by ${describe(holder)}`,
    "choose another port, or end the program that has it",
  );
}

function describe(holder: PortHolder | undefined): string {
  if (holder === undefined) return "another program";
  const { pid, argv, user } = holder;
  // Arguments may hold secrets.
  if (argv !== undefined) return `${basename(argv[0] ?? "")} (process ${pid})`;
  return `a program of user ${user}`;
}

/** Node's first argument is the program. */
function isExecServer(argv: readonly string[]): boolean {
  return argv[1] === process.argv[1] || argv.slice(0, 2).some((word) => basename(word) === "exec-server");
}

async function checkSocket(path: string): Promise<Check> {
  const server = createServer();
  try {
    (await bindUnixSocket(server, path))();
    return passed(NAME, `a server can listen on ${path}`);
  } catch (error) {
    if (error instanceof ConnectionError && error.errno === "EADDRINUSE")
      return passed(NAME, `a server listens on ${path} already`);
    return failed(NAME, messageOf(error), "choose a path in a directory that only its owner can write to");
  } finally {
    server.close();
  }
}

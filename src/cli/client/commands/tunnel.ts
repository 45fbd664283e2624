import { type Command, Option } from "commander";
import { pause } from "../../../base/deadlines.ts";
import { unsupported } from "../../../client/calls/unsupported.ts";
import { setAction } from "../outcome/end-with.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { openSocks, openTunnel } from "../tunnel/open-tunnel.ts";
import {
  type ListenAddress,
  parseListenAddress,
  parseTunnelAddress,
  shownAddress,
} from "../tunnel/tunnel-address.ts";

interface TunnelOptions extends TargetOptions {
  readonly json?: boolean;
  readonly dynamic?: readonly ListenAddress[];
}

const EXAMPLES = `
It listens on this machine until it is interrupted, by default on the loopback
address only, where other users do not get through. The connections leave from the
machine of the server, with its names and its network. Port 0 picks one, which is
printed. With -D, it is a SOCKS 5 proxy: each client says where it wishes to go.

Examples:
  exec-server tunnel 8080:localhost:80
  exec-server tunnel -H build 0:db.internal:5432
  exec-server tunnel 8080:localhost:80 8443:localhost:443
  exec-server tunnel -H build -D 1080 &  curl --proxy socks5h://127.0.0.1:1080 http://intranet/
`;

/** Adds `tunnel`. */
export function define(program: Command): void {
  const command = program
    .command("tunnel")
    .summary("forward a TCP port to where the server can reach, as ssh -L")
    .description("Forward TCP connections from this machine to a port that the server's machine can reach.")
    .usage("[OPTIONS] [[BIND:]PORT:HOST:PORT...]")
    .argument("[tunnel...]", "where to listen here, and what to connect to from there")
    .addOption(
      new Option("-D, --dynamic <[BIND:]PORT>", "be a SOCKS 5 proxy there, as ssh -D (repeatable)").argParser(
        (text: string, earlier: readonly ListenAddress[] | undefined) => [
          ...(earlier ?? []),
          parseListenAddress(text),
        ],
      ),
    )
    .option("--json", "print the addresses as JSON")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), tunnel);
}

/** Serves until it is interrupted. */
function tunnel(tunnels: readonly string[], { dynamic = [], ...options }: TunnelOptions): Promise<void> {
  const addresses = tunnels.map(parseTunnelAddress);
  if (addresses.length + dynamic.length === 0)
    throw usageFailure("nothing to forward; name a tunnel, such as 8080:localhost:80, or use -D PORT");
  return untilInterrupted(async (signal) => {
    const { host } = await connectTarget(options);
    if (!host.supports("tcp/connect")) throw unsupported("tcp/connect");
    for (const tunnelAddress of addresses) {
      const { host: hostName, port: hostPort } = tunnelAddress.target;
      const { address, port } = await openTunnel(host, tunnelAddress);
      if (options.json === true) await printJson({ address, port, host: hostName, hostPort });
      else await print(`${shownAddress(address, port)} -> ${shownAddress(hostName, hostPort)}\n`);
    }
    for (const listener of dynamic) {
      const { address, port } = await openSocks(host, listener);
      if (options.json === true) await printJson({ address, port, proxy: "socks5" });
      else await print(`${shownAddress(address, port)} -> anywhere, as a SOCKS 5 proxy\n`);
    }
    await Promise.race([host.closed, pause(Infinity, signal)]);
    if (!signal.aborted) throw new Failure((await host.closed).reason ?? "the session has ended");
    await host.close();
  });
}

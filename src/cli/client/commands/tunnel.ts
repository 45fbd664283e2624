import type { Command } from "commander";
import { unsupported } from "../../../client/calls/unsupported.ts";
import { endWith } from "../outcome/end-with.ts";
import { Failure } from "../outcome/failure.ts";
import { print, printJson } from "../print/output.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { openTunnel } from "../tunnel/open-tunnel.ts";
import { parseTunnelAddress, shownAddress } from "../tunnel/tunnel-address.ts";

interface TunnelOptions extends TargetOptions {
  readonly json?: boolean;
}

const EXAMPLES = `
It listens on this machine until it is interrupted, by default on the loopback
address only, where other users do not get through. The connections leave from the
machine of the server, with its names and its network. Port 0 picks one, which is
printed.

Examples:
  exec-server tunnel 8080:localhost:80
  exec-server tunnel -H build 0:db.internal:5432
  exec-server tunnel 8080:localhost:80 8443:localhost:443
`;

/** Adds `tunnel`. */
export function define(program: Command): void {
  const command = program
    .command("tunnel")
    .summary("reach a TCP port from the server's machine, as ssh -L")
    .description("Pass on TCP connections of this machine to a port that the server's machine can reach.")
    .usage("[OPTIONS] [BIND:]PORT:HOST:PORT...")
    .argument("<tunnel...>", "where to listen here, and where it leads from there")
    .option("--json", "print the addresses as JSON")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (tunnels: string[]) => {
    await endWith(await tunnel(tunnels, command.optsWithGlobals<TunnelOptions>()));
  });
}

/** Resolves with the exit status when it is interrupted. */
async function tunnel(tunnels: readonly string[], options: TunnelOptions): Promise<number> {
  const addresses = tunnels.map(parseTunnelAddress);
  const interrupted = new Promise<"interrupted">((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
      process.once(signal, () => resolve("interrupted"));
  });
  const { host } = await connectTarget(options);
  if (!host.supports("tcp/connect")) throw unsupported("tcp/connect");
  for (const address of addresses) {
    const local = await openTunnel(host, address);
    if (options.json === true)
      await printJson({
        address: local.address,
        port: local.port,
        host: address.host,
        hostPort: address.port,
      });
    else
      await print(
        `${shownAddress(local.address, local.port)} -> ${shownAddress(address.host, address.port)}\n`,
      );
  }
  const end = await Promise.race([host.closed, interrupted]);
  if (end !== "interrupted") throw new Failure(end.reason ?? "the session has ended");
  await host.close();
  return 0;
}

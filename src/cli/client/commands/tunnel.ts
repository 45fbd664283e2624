import { type Command, Option } from "commander";
import { pause } from "../../../base/deadlines.ts";
import { setAction } from "../outcome/end-with.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { openTarget, requireExtension } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { targetName } from "../target/target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import type { OpenListener } from "../tunnel/local-listener.ts";
import { openReverse } from "../tunnel/open-reverse.ts";
import { openSocks, openTunnel } from "../tunnel/open-tunnel.ts";
import {
  parseListenAddress,
  parseTunnelAddress,
  type PortAddress,
  shownAddress,
  type TunnelAddress,
  type TunnelTarget,
} from "../tunnel/tunnel-address.ts";

interface TunnelOptions extends TargetOptions {
  readonly json?: boolean;
  readonly dynamic?: readonly PortAddress[];
  readonly remote?: readonly string[];
}

const EXAMPLES = `
It listens on this machine until it is interrupted, by default on the loopback
address only, where other users do not get through. The connections leave from the
machine of the server, with its names and its network. Port 0 picks one, which is
printed. With -D, it is a SOCKS 5 proxy: each client says where it wishes to go.

With -R, it is the other way round: the server's machine listens, and the
connections leave from this one.

Each side can also be a Unix socket, by its absolute path. One that is listened on
is created, for your user alone, and removed at the end.

Examples:
  exec-server tunnel 8080:localhost:80
  exec-server tunnel -H build 0:db.internal:5432
  exec-server tunnel 8080:localhost:80 8443:localhost:443
  exec-server tunnel -H build -R 9000:localhost:3000
  exec-server tunnel -H build 2375:/run/docker.sock
  exec-server tunnel -H build -D 1080 &  curl --proxy socks5h://127.0.0.1:1080 http://intranet/
`;

/** Adds `tunnel`. */
export function define(program: Command): void {
  const command = program
    .command("tunnel")
    .summary("forward a port to or from the server's network, as ssh -L and -R")
    .description(
      "Forward connections from this machine to what the server's machine can reach, or the other way round.",
    )
    .usage("[OPTIONS] [[BIND:]PORT:HOST:PORT...]")
    .argument("[tunnel...]", "where to listen here, and what to connect to from there")
    .addOption(
      new Option(
        "-R, --remote <[BIND:]PORT:HOST:PORT>",
        "listen there, and connect to it from here, as ssh -R (repeatable)",
      ).argParser((text: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), text]),
    )
    .addOption(
      new Option("-D, --dynamic <[BIND:]PORT>", "be a SOCKS 5 proxy there, as ssh -D (repeatable)").argParser(
        (text: string, earlier: readonly PortAddress[] | undefined) => [
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
function tunnel(tunnels: readonly string[], options: TunnelOptions): Promise<void> {
  const { dynamic = [], json = false } = options;
  const forward = tunnels.map(parseTunnelAddress);
  const remote = (options.remote ?? []).map(parseTunnelAddress);
  if (forward.length + dynamic.length + remote.length === 0)
    throw usageFailure("nothing to forward; name a tunnel, such as 8080:localhost:80, or use -R or -D");
  return untilInterrupted(async (signal) => {
    const target = await resolveTarget(options);
    const host = await openTarget(target, options, "session");
    const open: OpenListener[] = [];
    const report = async (listener: OpenListener, to: TunnelTarget | "socks5", facts = {}): Promise<void> => {
      open.push(listener);
      const { shown } = listener;
      if (json) await printJson({ ...facts, ...listener.facts, ...targetFacts(to) });
      else
        await print(`${shown} -> ${to === "socks5" ? "anywhere, as a SOCKS 5 proxy" : shownAddress(to)}\n`);
    };
    try {
      const needed = neededExtensions({ forward, dynamic, remote });
      for (const extension of needed) requireExtension(host, target, extension);
      for (const address of forward) await report(await openTunnel(host, address), address.target);
      for (const address of dynamic) await report(await openSocks(host, address), "socks5");
      const there = { host, name: targetName(target) };
      for (const address of remote)
        await report(await openReverse(there, address, signal), address.target, { remote: true });
      const lost = open.flatMap((listener) => listener.lost ?? []);
      await Promise.race([host.closed, pause(Infinity, signal), ...lost]);
      if (!signal.aborted) throw new Failure((await host.closed).reason ?? "the session has ended");
    } finally {
      for (const listener of open) listener.close();
    }
    await host.close();
  });
}

function targetFacts(to: TunnelTarget | "socks5"): object {
  if (to === "socks5") return { proxy: to };
  return "path" in to ? { hostPath: to.path } : { host: to.host, hostPort: to.port };
}

function neededExtensions({
  forward,
  dynamic,
  remote,
}: {
  forward: readonly TunnelAddress[];
  dynamic: readonly PortAddress[];
  remote: readonly TunnelAddress[];
}): ReadonlySet<string> {
  return new Set([
    ...forward.map(({ target }) => ("path" in target ? "unix/connect" : "tcp/connect")),
    ...dynamic.map(() => "tcp/connect"),
    ...remote.map(({ listen }) => ("path" in listen ? "unix/listen" : "tcp/listen")),
  ]);
}

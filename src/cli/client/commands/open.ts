import { spawn } from "node:child_process";
import { type Command, InvalidArgumentError } from "commander";
import { pause } from "../../../base/deadlines.ts";
import { shownUrl } from "../../../base/shown-url.ts";
import type { OpenTransport } from "../../../client/link/connectors.ts";
import { isInForeground } from "../../../native/process-stat.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { print } from "../../shared/standard-streams.ts";
import { parseCount } from "../arguments.ts";
import type { LocalPage } from "../console/local-page.ts";
import { setAction } from "../outcome/end-with.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { complain } from "../print/complain.ts";
import { openTarget } from "../target/connect-target.ts";
import { executorToken, misplacedForFleet, resolveTarget, tlsOf } from "../target/resolve-target.ts";
import type { NamedFleet, Target } from "../target/target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { transportsOf } from "../target/target-transports.ts";

/** A program that hands over to a browser ends at once; one that is the browser stays. */
const PATIENCE_MS = 3_000;

interface OpenOptions extends TargetOptions {
  readonly print?: boolean;
  readonly port?: number;
}

const EXAMPLES = `
The link works once, within the hour; the page then stays signed in for its tab. It has the rights of this command.

A server that listens on a TCP port serves the page itself. For any other one, such as your own server or one behind
ssh, this command serves it, on a port of this machine, and carries the messages until it is interrupted. Meanwhile,
Enter prints another link, for another tab or browser. What runs there keeps running.
Ports opens a web app of yours, such as a development server, in a tab, whichever machine it runs on.

The name of a fleet opens a view of its machines instead, from where each of them opens in a tab of its own.

Examples:
  exec-server open
  exec-server open --print
  exec-server open --port 7000
  exec-server -H build open
  exec-server -H prod open
  exec-server -H prod/web-1 open
  exec-server open --url ws://127.0.0.1:8765
`;

/** Adds `open`. */
export function define(program: Command): void {
  const command = program
    .command("open")
    .summary("open the web console of the server in a browser")
    .description("Open the web console of the server in a browser: processes, terminals and files.")
    .option("--print", "print the link instead of opening a browser")
    .option("--port <PORT>", "serve the page on this port of this machine, for a bookmark", parsePort)
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), open);
}

async function open(options: OpenOptions): Promise<void> {
  const fleet = await fleetOf(options);
  if (fleet !== undefined) return await serveFleet(fleet, options);
  const target = await resolveTarget(options);
  const link = await linkOf(target, options);
  if (link === undefined) return await serveLocally(target, options);
  if (options.port !== undefined)
    throw usageFailure("--port is for a page that this command serves; this server serves its own");
  await show(link, options);
}

/** A link to the page of the server itself. Undefined if it has none that a browser here can use. */
async function linkOf(target: Target, options: OpenOptions): Promise<string | undefined> {
  await using host = await openTarget(target, options, "kept");
  if (target.kind !== "url" || !host.supports("console/link")) return undefined;
  const { url, ca, cert } = target;
  // A browser knows neither this authority nor this certificate.
  if (!/^wss?:\/\/[^/]+\/?$/.test(url) || ca !== undefined || cert !== undefined) return undefined;
  const { token } = await host.request("console/link", null);
  return `${new URL(new URL(url).href.replace(/^ws/, "http")).origin}/#link=${token}`;
}

async function show(link: string, options: OpenOptions): Promise<void> {
  if (options.print === true) await print(`${link}\n`);
  else if (await openBrowser(link)) complain("opened the web console in your browser");
  else await print(`No browser was found here. Open this link in one:\n${link}\n`);
}

/** Serves the page until it is interrupted. */
async function serveLocally(target: Target, options: OpenOptions): Promise<void> {
  const { open } = await transportsOf(target, options, "kept");
  const { carriedTo, serveLocalPage } = await import("../console/local-page.ts");
  const name = target.kind === "own" ? undefined : target.name;
  await untilInterrupted(async (signal) => {
    const { port } = options;
    const page = await serveLocalPage(carriedTo(open), {
      name,
      command: commandFor(target),
      port,
      server: open,
    });
    await show(page.link(), options);
    await served(page, signal, "the server");
  });
}

/** The command that opens this target again. */
function commandFor(target: Target): string {
  if (target.kind === "own") return "exec-server open";
  if (target.name !== undefined) return `exec-server -H ${target.name} open`;
  return `exec-server open --url ${target.kind === "url" ? shownUrl(target.url) : "URL"}`;
}

/** The fleet, if its name was given instead of a server's. */
async function fleetOf({ url, host }: OpenOptions): Promise<NamedFleet | undefined> {
  const { EXEC_SERVER_URL: otherUrl, EXEC_SERVER_HOST: otherHost } = process.env;
  const name = host ?? (otherUrl ? undefined : otherHost);
  if (url !== undefined || !name) return undefined;
  const { findFleetBesideHosts } = await import("../target/hosts/find-fleet.ts");
  return findFleetBesideHosts(name);
}

async function serveFleet(named: NamedFleet, options: OpenOptions): Promise<void> {
  const [misplaced] = Object.keys(tlsOf(options));
  if (misplaced !== undefined) throw misplacedForFleet(misplaced);
  const [{ openNamedFleet }, { serveFleetPage }] = await Promise.all([
    import("../fleet/open-named-fleet.ts"),
    import("../console/fleet-page.ts"),
  ]);
  await untilInterrupted(async (signal) => {
    await using fleet = await openNamedFleet(named, options, { signal });
    const token = executorToken(named, options);
    const transportsTo =
      (id: string): OpenTransport =>
      async (dialling) => {
        const name = `${named.name}/${id}`;
        const target = defined({ kind: "executor", name, fleet: named, id, token } as const);
        return (await transportsOf(target, options, "kept")).open(dialling);
      };
    const page = await serveFleetPage(named, fleet, transportsTo, options.port);
    await show(page.link(), options);
    await served(page, signal, "the machines");
  });
}

/** Resolves when the signal is aborted. Until then, Enter prints another link: each works once. */
async function served(page: LocalPage, signal: AbortSignal, where: string): Promise<void> {
  const keys = process.stdin.isTTY && (process.platform !== "linux" || isInForeground());
  complain(
    `serving the web console on this machine; ${keys ? "Enter prints another link, " : ""}Ctrl-C stops that, and what runs on ${where} keeps running`,
  );
  if (keys) process.stdin.on("data", () => void print(`${page.link()}\n`).catch(() => {}));
  await pause(Infinity, signal);
}

const MAX_PORT = 65_535;

function parsePort(text: string): number {
  const port = parseCount(text);
  if (port <= MAX_PORT) return port;
  throw new InvalidArgumentError(`Expected a port from 1 to ${MAX_PORT}.`);
}

/** Opens a link in the user's browser. Resolves with false without one. */
async function openBrowser(link: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = process.env;
  // Without a display, xdg-open would start a browser in this terminal.
  if (program === "xdg-open" && !DISPLAY && !WAYLAND_DISPLAY && !BROWSER) return false;
  return new Promise((resolve) => {
    const child = spawn(program, [link], { stdio: "ignore", detached: true });
    const timer = setTimeout(resolve, PATIENCE_MS, true);
    const end = (opened: boolean): void => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once("error", () => end(false));
    child.once("exit", (status) => end(status === 0));
    child.unref();
  });
}

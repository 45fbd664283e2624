import type { Command } from "commander";
import { shownUrl } from "../../../base/shown-url.ts";
import { openBrowser } from "../console/open-browser.ts";
import { endWith } from "../outcome/end-with.ts";
import type { OpenTransport } from "../../../client/link/connectors.ts";
import type { NamedFleet } from "../target/target.ts";
import { complain } from "../print/complain.ts";
import { print } from "../print/output.ts";
import { openTarget } from "../target/connect-target.ts";
import { executorToken } from "../target/executor-token.ts";
import { misplacedForFleet, resolveTarget } from "../target/resolve-target.ts";
import type { Target } from "../target/target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { transportsOf } from "../target/target-transports.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";

interface OpenOptions extends TargetOptions {
  readonly print?: boolean;
}

const EXAMPLES = `
The link works once, within the hour; the page then stays signed in for its tab. It has
the rights of this command.

A server that listens on a TCP port serves the page itself. For any other one, such as
your own server or one behind ssh, this command serves it, on a port of this machine,
and carries the messages until it is interrupted. What runs there goes on.

The name of a fleet opens a view of its machines instead, from where each of them opens in
a tab of its own.

Examples:
  exec-server open
  exec-server open --print
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
    .option("--print", "print the link, and open nothing")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async () => {
    const options = command.optsWithGlobals<OpenOptions>();
    const fleet = await fleetOf(options);
    if (fleet !== undefined) {
      await serveFleet(fleet, options);
      return endWith(0);
    }
    const target = await resolveTarget(options);
    const link = await linkOf(target, options);
    if (link === undefined) await serveHere(target, options);
    else await show(link, options);
    await endWith(0);
  });
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
  else await print(`There is no browser here. Open this link in one:\n${link}\n`);
}

/** Serves the page until it is interrupted. */
async function serveHere(target: Target, options: OpenOptions): Promise<void> {
  const { open } = await transportsOf(target, options, "kept");
  const { carriedTo, serveLocalPage } = await import("../console/local-page.ts");
  const name = target.kind === "own" ? undefined : target.name;
  await untilInterrupted(async (signal) => {
    const page = await serveLocalPage(carriedTo(open), { name, command: commandFor(target) });
    await show(page.link(), options);
    await served(signal, "the server");
  });
}

/** What opens this target again. */
function commandFor(target: Target): string {
  if (target.kind === "own") return "exec-server open";
  if (target.name !== undefined) return `exec-server -H ${target.name} open`;
  return `exec-server open --url ${target.kind === "url" ? shownUrl(target.url) : "URL"}`;
}

/** The fleet whose name was given instead of that of a server. */
async function fleetOf({ url, host }: OpenOptions): Promise<NamedFleet | undefined> {
  const { EXEC_SERVER_URL: otherUrl, EXEC_SERVER_HOST: otherHost } = process.env;
  const name = host ?? (otherUrl ? undefined : otherHost);
  if (url !== undefined || !name) return undefined;
  const { findFleetBesideHosts } = await import("../target/hosts/find-fleet.ts");
  return findFleetBesideHosts(name);
}

async function serveFleet(named: NamedFleet, options: OpenOptions): Promise<void> {
  const misplaced = (["ca", "cert", "key"] as const).find((name) => options[name] !== undefined);
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
        const target = { kind: "executor", name: `${named.name}/${id}`, fleet: named, id } as const;
        const known = { ...target, ...(token === undefined ? {} : { token }) };
        return (await transportsOf(known, options, "kept")).open(dialling);
      };
    await show(await serveFleetPage(named, fleet, transportsTo), options);
    await served(signal, "the machines");
  });
}

/** Resolves when the signal is aborted. */
async function served(signal: AbortSignal, where: string): Promise<void> {
  complain(`serving the web console on this machine; Ctrl-C ends that, and what runs on ${where} goes on`);
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

import type { Command } from "commander";
import { openBrowser } from "../console/open-browser.ts";
import { endWith } from "../end-with.ts";
import { complain } from "../print/complain.ts";
import { print } from "../print/output.ts";
import { openTarget } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import type { Target } from "../target/target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { transportsOf } from "../target/target-transports.ts";
import { untilInterrupted } from "../until-interrupted.ts";

interface OpenOptions extends TargetOptions {
  readonly print?: boolean;
}

const EXAMPLES = `
The link works once, within the hour; the page then stays signed in for its tab. It has
the rights of this command.

A server that listens on a TCP port serves the page itself. For any other one, such as
your own server or one behind ssh, this command serves it, on a port of this machine,
and carries the messages until it is interrupted. What runs there goes on.

Examples:
  exec-server open
  exec-server open --print
  exec-server -H build open
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
  const { serveLocalPage } = await import("../console/local-page.ts");
  await untilInterrupted(async (signal) => {
    await show(await serveLocalPage(open), options);
    complain(
      "serving the web console on this machine; Ctrl-C ends that, and what runs on the server goes on",
    );
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  });
}

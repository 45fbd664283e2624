import { repeated } from "../arguments.ts";
import type { Command } from "commander";
import { endWith } from "../outcome/end-with.ts";
import type { FetchOptions } from "../fetching/fetch-options.ts";
import { fetchUrl } from "../fetching/fetch-url.ts";
import { withTarget } from "../target/target-options.ts";

const EXAMPLES = `
The request leaves from the machine of the server, with its names and its network.

Status: 0; 22 with --fail if the answer's status is 400 or more; 1 if there was no answer.

Examples:
  exec-server fetch http://127.0.0.1:8080/health
  exec-server fetch -H build --fail -o report.json https://internal.example/report
  exec-server fetch --header 'Content-Type: application/json' -d @order.json http://127.0.0.1:8080/orders
`;

/** Adds `fetch`. */
export function define(program: Command): void {
  const command = program
    .command("fetch")
    .summary("make an HTTP request from the server's machine")
    .description("Make an HTTP request from the server's machine, and print the body of the answer.")
    .usage("[OPTIONS] URL")
    .argument("<url>", "http:// or https://")
    .option("-X, --request <METHOD>", "default: GET; POST with --data; HEAD with --head")
    .option("--header <HEADER>", "'Name: value' (repeatable; -H names a host)", repeated)
    .option("-d, --data <DATA>", "body of the request; @FILE reads a file, @- stdin")
    .option("-o, --output <FILE>", "write the body to a file of this machine")
    .option("-i, --include", "print the status and the headers first")
    .option("-I, --head", "print only the status and the headers")
    .option("-L, --location", "follow redirects")
    .option("-f, --fail", "print no body, and end with 22, if the status is 400 or more")
    .option("--json", "print status, headers and body as one JSON document")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (url: string) => {
    await endWith(await fetchUrl(url, command.optsWithGlobals<FetchOptions>()));
  });
}

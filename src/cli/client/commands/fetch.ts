import { repeated } from "../arguments.ts";
import type { Command } from "commander";
import { setAction } from "../outcome/end-with.ts";
import { fetchUrl } from "../fetching/fetch-url.ts";
import { withTarget } from "../target/target-options.ts";

const EXAMPLES = `
The request is made by the server's machine, with its DNS and its network.

Status: 0; 22 with --fail if the response status is 400 or above; 1 if there was no response.

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
    .description("Make an HTTP request from the server's machine, and print the response body.")
    .usage("[OPTIONS] URL")
    .argument("<url>", "http:// or https://")
    .option("-X, --request <METHOD>", "default: GET; POST with --data; HEAD with --head")
    .option("--header <HEADER>", "'Name: value' (repeatable; -H names a host)", repeated)
    .option("-d, --data <DATA>", "request body; @FILE reads a file, @- stdin")
    .option("-o, --output <FILE>", "write the body to a file on this machine")
    .option("-i, --include", "print the status and the headers first")
    .option("-I, --head", "print only the status and the headers")
    .option("-L, --location", "follow redirects")
    .option("-f, --fail", "if the status is 400 or above, print no body and exit with 22")
    .option("--json", "print status, headers and body as one JSON document")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), fetchUrl);
}

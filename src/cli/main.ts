import { CliError } from "./cli-error.ts";
import { serve } from "./commands/serve.ts";
import { help } from "./help.ts";
import { VERSION } from "./version.ts";

async function main(args: readonly string[]): Promise<void> {
  const [first, ...rest] = args;
  const command = first === "serve" ? "serve" : undefined;
  const flags = command === undefined ? args : rest;
  if (flags.includes("--help") || flags.includes("-h")) {
    process.stdout.write(help());
    return;
  }
  if (flags.includes("--version") || flags.includes("-V")) {
    process.stdout.write(`exec-server ${VERSION}\n`);
    return;
  }
  await serve(flags);
}

void main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof CliError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});

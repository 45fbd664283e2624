import { randomBytes } from "node:crypto";
import type { ChildPipes } from "../../../../../transport/prepared-child.ts";
import { drawErr } from "../../../../shared/standard-streams.ts";
import { printable } from "../../../print/printable.ts";
import { hasBundle, ownBundle } from "./bundle.ts";
import { converse, type Step } from "./converse.ts";
import { ownExecutables } from "./executables.ts";
import { remoteCommand } from "./remote-script.ts";

const NONCE_BYTES = 12;
const MIB = 1_048_576;

/** A command that starts a server, and what to say to it before it serves. */
export interface BringingCommand {
  readonly command: [string, ...string[]];
  readonly prepare: (
    pipes: ChildPipes,
    listeners: { readonly signal: AbortSignal; readonly onStep: (step: Step) => void },
  ) => Promise<void>;
}

/** The last argument of such an ssh, which is for the remote shell. */
const SERVE_INSTALLED = "exec-server --listen stdio";

/** Whether a command is ssh with the usual remote command, which a script can replace. */
export function canBring([program, ...args]: readonly string[]): boolean {
  return program === "ssh" && args.at(-1) === SERVE_INSTALLED && hasBundle();
}

/** The same ssh, with a server that brings itself along if exec-server is not there. */
export function bringing(
  name: string,
  [ssh, ...args]: readonly [string, ...string[]],
  kept: boolean,
): BringingCommand {
  const bundle = ownBundle();
  const executables = ownExecutables(bundle.version);
  const nonce = randomBytes(NONCE_BYTES).toString("hex");
  const script = remoteCommand({
    nonce,
    name: bundle.name,
    files: bundle.files,
    kilobytes: bundle.kilobytes,
    executables: new Map([...executables].map(([machine, executable]) => [machine, executable.name])),
    args: kept ? "bridge --stdio" : "--listen stdio",
  });
  return {
    command: [ssh, ...args.slice(0, -1), script],
    prepare: (pipes, { signal, onStep }) =>
      converse(pipes, { name, nonce, bundle, executables, signal, onStep }),
  };
}

/** Shows in one line of a terminal how much of the bundle has been sent, and removes the line at the end. */
export function progressLine(name: string): (step: Step) => void {
  if (!process.stderr.isTTY) return () => {};
  let isShown = false;
  return (step) => {
    if (step.kind === "sending") {
      isShown = true;
      const [sent, total] = [step.sent, step.total].map((bytes) => (bytes / MIB).toFixed(1));
      drawErr(`\r\x1b[Kexec-server: bringing itself to '${printable(name)}': ${sent} of ${total} MiB`);
    } else if (isShown) {
      isShown = false;
      drawErr("\r\x1b[K");
    }
  };
}

import { fileURLToPath } from "node:url";
import { connect } from "./connect.ts";
import type { ConnectOptions } from "./connect-options.ts";
import type { Host } from "../host.ts";

/** How a local server is started and connected to. */
export interface LocalOptions extends Omit<ConnectOptions, "token" | "resumeSessionId"> {
  /** Working directory of the server, which is that of processes unless they are told another. */
  readonly cwd?: string;
  /** Environment of the server, which processes inherit; this program's own unless told. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Starts a server on this machine and connects to it. It ends with the host. */
export function connectLocal({ cwd, env, ...options }: LocalOptions = {}): Promise<Host> {
  const program = fileURLToPath(new URL("../../../cli.js", import.meta.url));
  return connect(
    {
      command: [process.execPath, program, "--listen", "stdio"],
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    },
    options,
  );
}

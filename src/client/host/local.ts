import { fileURLToPath } from "node:url";
import { connect } from "./connect.ts";
import type { ConnectOptions } from "./open-host.ts";
import type { Host } from "./host.ts";

/** How to start and connect to a local server. */
export interface LocalOptions extends Omit<ConnectOptions, "token" | "resumeSessionId"> {
  /** Working directory of the server, and default working directory of processes. */
  readonly cwd?: string;
  /**
   * Added to this program's environment, for the server and the processes that inherit from it. A variable that is
   * `undefined` here is not inherited.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Starts a server on this machine and connects to it. The server ends with the host. */
export function connectLocal({ cwd, env, ...options }: LocalOptions = {}): Promise<Host> {
  // The build puts all modules of the library two directories below the program.
  const program = fileURLToPath(new URL("../../cli.js", import.meta.url));
  return connect(
    {
      command: [process.execPath, program, "--listen", "stdio"],
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    },
    options,
  );
}

import { fileURLToPath } from "node:url";
import type { OwnProcess } from "../../src/capabilities/process/process-starter.ts";
import { type ExitStatus, Reaper } from "../../src/native/reaper.ts";
import { spawnOnPipes } from "../../src/native/spawn.ts";
import { ByteBudget } from "../../src/server/wire/byte-budget.ts";
import { FULL_RIGHTS } from "../../src/server/access/rights.ts";
import type { FileClient } from "../../src/server/files/file-client.ts";

const BUNDLE = fileURLToPath(new URL("../../dist/sandbox-helper.js", import.meta.url));
export const LIMITS = { maxBufferedBytes: 2 ** 28, maxBufferedBytesPerConnection: 2 ** 26 };

/** A helper's settings, except for its mounts. */
export const SETTINGS = { fsRoots: undefined, codexHome: undefined, userDirectory: "/", limits: LIMITS };
export const HELPER_COMMAND = [process.execPath, BUNDLE] as const;

const reaper = new Reaper();

/** Starts a helper without the server's sandbox around it, or anything else in its place. */
export async function startBare(argv: readonly string[] = HELPER_COMMAND): Promise<OwnProcess> {
  reaper.listen();
  const program = { path: argv[0]!, argv, env: [], cwd: "/" };
  const { stdin, ...started } = await spawnOnPipes(program, { stdin: true }, () => {});
  const exited = new Promise<ExitStatus>((resolve) => reaper.watch(started.pid, resolve));
  return { ...started, stdin: stdin!, exited };
}

export function bareClient(signal: AbortSignal): FileClient {
  return {
    budget: new ByteBudget(LIMITS).connect({ queuedBytes: () => 0, ping: () => false }),
    signal,
    rights: FULL_RIGHTS,
    notify: () => {},
    drained: async () => {},
  };
}

import { pathFailure } from "../outcome/path-failure.ts";
import { complain } from "../print/complain.ts";
import type { Connected } from "../target/connect-target.ts";
import { PathConnections } from "../target/path-connections.ts";
import { parseRemotePath, type RemotePath } from "../target/remote-path.ts";
import type { TargetOptions } from "../target/target-options.ts";

/**
 * Runs an action for each path, connected to its host. A path that fails is reported, and the others follow, as `ls`
 * and `cat` do. Resolves with the exit status.
 */
export async function forEachPath(
  paths: readonly string[],
  options: TargetOptions,
  action: (connected: Connected, path: RemotePath, text: string) => Promise<void>,
): Promise<number> {
  await using connections = new PathConnections(options);
  let status = 0;
  for (const text of paths) {
    const path = parseRemotePath(text);
    const connected = await connections.open(path);
    try {
      await action(connected, path, text);
    } catch (error) {
      const failure = pathFailure(error, text);
      if (failure === undefined) throw error;
      complain(failure.message);
      status = 1;
    }
  }
  return status;
}

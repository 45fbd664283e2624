import type { Failure } from "../outcome/failure.ts";
import { pathFailure } from "../outcome/path-failure.ts";
import { complain } from "../print/complain.ts";
import { type Connected, connectTarget } from "../target/connect-target.ts";
import { optionsFor, parseRemotePath, type RemotePath } from "../target/remote-path.ts";
import type { TargetOptions } from "../target/target-options.ts";

/**
 * Runs an action for each path, connected to its host. A path that fails is reported, and the others follow, as `ls`
 * and `cat` do. Resolves with whether all went well.
 */
export async function forEachPath(
  paths: readonly string[],
  options: TargetOptions,
  action: (connected: Connected, path: RemotePath, text: string) => Promise<void>,
): Promise<boolean> {
  const connections = new Map<string | undefined, Connected>();
  let isComplete = true;
  try {
    for (const text of paths) {
      const path = parseRemotePath(text);
      const connected = connections.get(path.host) ?? (await connectTarget(optionsFor(path, options)));
      connections.set(path.host, connected);
      try {
        await action(connected, path, text);
      } catch (error) {
        const failure: Failure | undefined = pathFailure(error, text);
        if (failure === undefined) throw error;
        complain(failure.message);
        isComplete = false;
      }
    }
  } finally {
    await Promise.all([...connections.values()].map(({ host }) => host.close()));
  }
  return isComplete;
}

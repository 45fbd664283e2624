import { withFiles } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import type { VerifyContext } from "./verifies.ts";

interface TextFile {
  path: string;
  contents: string;
}

export interface DiscoveredRoot {
  id: string;
  path: string;
  plugin: { manifest: TextFile; mcpConfig: TextFile | null; appsConfig: TextFile | null } | null;
  skills: { instructions: TextFile; metadata: TextFile | null }[];
  namespaceManifests: TextFile[];
  warnings: string[];
  error: string | null;
}

export interface RootContext {
  connection: RawPeer;
  path: string;
  uri: string;
  /** What is found below a directory of the tree. */
  discover: (directory?: string) => Promise<DiscoveredRoot>;
}

/** The body of a test on a directory with these files. */
export function inRoot(files: Record<string, string>, body: (context: RootContext) => Promise<void>) {
  return async ({ peer }: VerifyContext) =>
    withFiles(files, async ({ path, uri }) => {
      const connection = await peer();
      const discover = async (directory = "") => {
        const [root] = await discoverRoots(connection, [{ id: "r", path: `${uri}${directory}` }]);
        if (root === undefined) throw new Error("no result for the root");
        return root;
      };
      await body({ connection, path, uri, discover });
    });
}

export async function discoverRoots(
  connection: RawPeer,
  roots: readonly { id: string; path: string }[],
): Promise<DiscoveredRoot[]> {
  return (await connection.request("capabilityRoots/discoverV1", { roots }, { timeoutMs: 20_000 })).roots;
}

/** A root in which nothing is found. */
export const NOTHING = {
  plugin: null,
  skills: [],
  namespaceManifests: [],
  warnings: [],
  error: null,
};

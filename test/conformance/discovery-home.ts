import { join } from "node:path";
import { withFiles } from "./process-events.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import type { VerifyContext } from "./verifies.ts";

export const DISCOVER = "capabilities/discoverV2";
export const MANIFEST = ".codex-plugin/plugin.json";
export const INCOMPLETE = "some capability metadata could not be loaded; discovery may be incomplete";

interface Skill {
  name: string;
  description: string;
  shortDescription: string | null;
  path: string;
  dependencies: unknown;
  policy: unknown;
}

interface Plugin {
  id: string;
  displayName: string;
  remotePluginId: string | null;
  version: string | null;
  root: string;
  files: unknown;
  skills: Skill[];
}

export interface Found {
  plugins: Plugin[];
  skills: (Skill & { discoveryRoot: { id: string; path: string } })[];
  warnings: string[];
}

export interface HomeContext {
  found: Found;
  peer: RawPeer;
  path: string;
  uri: string;
}

/**
 * The body of a test on a server in whose home these files lie; `codex` in it is the Codex home. They lie there before
 * the server starts, for the real one looks at them then and may be content with that for ten seconds.
 */
export function inHome(
  files: Record<string, string>,
  body: (context: HomeContext) => Promise<void>,
  prepare: (path: string) => Promise<void> = async () => {},
) {
  return async ({ launch }: VerifyContext) =>
    withFiles({ "codex/x": "", ...files }, async ({ path, uri }) => {
      await prepare(path);
      const server = await launch([], { env: { HOME: path, CODEX_HOME: join(path, "codex") } });
      const peer = await openWebSocketPeer(await server.banner());
      try {
        await peer.handshake();
        const found: Found = await peer.request(DISCOVER, { cwd: "file:///" });
        await body({ found, peer, path, uri });
      } finally {
        peer.drop();
      }
    });
}

export function skill(name: string, more = ""): string {
  return `---\nname: ${name}\ndescription: about ${name}\n${more}---\nbody\n`;
}

export function namesOf(skills: readonly { name: string }[]): string[] {
  return skills.map(({ name }) => name);
}

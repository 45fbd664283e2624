import { CapabilityError, RpcError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import type { TextFile } from "../../capabilities/discovery/capability-files.ts";
import {
  type CapabilityRoot,
  discoverRoot,
  type Plugin,
} from "../../capabilities/discovery/capability-root.ts";
import {
  discoverEnvironment,
  type PluginDescription,
} from "../../capabilities/discovery/environment-capabilities.ts";
import type { SkillDescription } from "../../capabilities/discovery/skills.ts";
import type { Location } from "../../capabilities/files/location.ts";
import type { CodexHome } from "../../capabilities/host/codex-home.ts";
import { Turns } from "../../capabilities/turns.ts";
import type { Params, Result } from "../../protocol/index.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import type { Locations } from "./locations.ts";

type DiscoveredRoot = Result<"capabilityRoots/discoverV1">["roots"][number];
type RootParams = Params<"capabilityRoots/discoverV1">["roots"][number];

export const MAX_ROOTS = 128;
const EMPTY: CapabilityRoot = { plugin: undefined, skills: [], namespaceManifests: [], warnings: [] };

/** Handlers for unconfined requests. */
export function discoveryHandlers(codexHome: CodexHome, locations: Locations) {
  return {
    "capabilityRoots/discoverV1": async (client, { roots }) => {
      if (roots.length > MAX_ROOTS)
        throw new RpcError(
          RpcCode.invalidRequest,
          `capability root discovery accepts at most ${MAX_ROOTS} roots`,
        );
      const turns = new Turns();
      for (const { path } of roots) {
        checkPath(path, client, locations);
        if (turns.over) await turns.next();
      }
      const discovered: DiscoveredRoot[] = [];
      for (const root of roots) {
        discovered.push(await discoverV1(root, client, locations));
        if (turns.over) await turns.next();
      }
      return { roots: discovered };
    },

    "capabilities/discoverV2": async (client, { cwd }) => {
      checkPath(cwd, client, locations);
      const { plugins, skillRoots, warnings } = await discoverEnvironment(
        codexHome.locate(),
        codexHome.userDirectory,
      );
      return {
        plugins: plugins.map(toPlugin),
        skills: skillRoots.flatMap(({ id, directory, skills }) => {
          const discoveryRoot = { id, path: uriFromPath(directory) };
          return skills.map((skill) => ({ ...toSkill(skill), discoveryRoot }));
        }),
        warnings: [...warnings],
      };
    },
  } satisfies Handlers<FileClient>;
}

/** Invalid parameters fail the request; a path of another host fails only its root. */
export function checkPath(path: string, client: FileClient, locations: Locations): void {
  try {
    locations.at(path, client);
  } catch (error) {
    if (error instanceof RpcError) throw error;
  }
}

function locate(path: string, client: FileClient, locations: Locations): Location {
  try {
    return locations.at(path, client);
  } catch (error) {
    if (!(error instanceof CapabilityError)) throw error;
    throw new CapabilityError(error.code, `failed to inspect capability root ${path}: ${error.message}`);
  }
}

async function discoverV1(
  { id, path }: RootParams,
  client: FileClient,
  locations: Locations,
): Promise<DiscoveredRoot> {
  let root = EMPTY;
  let error: string | null = null;
  try {
    root = await discoverRoot(locate(path, client, locations));
  } catch (cause) {
    if (!(cause instanceof CapabilityError)) throw cause;
    error = cause.message;
  }
  const { plugin } = root;
  return {
    id,
    path,
    plugin: plugin === undefined ? null : toPluginFiles(plugin),
    skills: root.skills.map(({ instructions, metadata }) => ({
      instructions: toWire(instructions),
      metadata: toWireOrNull(metadata),
    })),
    namespaceManifests: root.namespaceManifests.map(toWire),
    warnings: [...root.warnings],
    error,
  };
}

function toPlugin({ id, displayName, remoteId, version, directory, files, skills }: PluginDescription) {
  return {
    id,
    displayName,
    remotePluginId: remoteId,
    version,
    root: uriFromPath(directory),
    files: toPluginFiles(files),
    skills: skills.map(toSkill),
  };
}

function toPluginFiles({ manifest, mcpConfig, appsConfig }: Plugin) {
  return {
    manifest: toWire(manifest),
    mcpConfig: toWireOrNull(mcpConfig),
    appsConfig: toWireOrNull(appsConfig),
  };
}

function toSkill({ location, dependencies, policy, ...rest }: SkillDescription) {
  return {
    ...rest,
    path: location.uri,
    dependencies: dependencies === null ? null : { tools: [...dependencies.tools] },
    policy: policy === null ? null : { ...policy, products: [...policy.products] },
  };
}

function toWire({ location, contents }: TextFile): { path: string; contents: string } {
  return { path: location.uri, contents };
}

function toWireOrNull(file: TextFile | undefined): { path: string; contents: string } | null {
  return file === undefined ? null : toWire(file);
}

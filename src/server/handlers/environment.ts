import { hostname } from "node:os";
import { CapabilityError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import {
  type ConfigLayer,
  readConfigLayers,
  readRequirementLayers,
} from "../../capabilities/discovery/codex-config.ts";
import type { KeyPaths } from "../../capabilities/discovery/config-projection.ts";
import type { Place } from "../../capabilities/files/place.ts";
import type { CodexHome } from "../../capabilities/host/codex-home.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import { invalidParams } from "../invalid-params.ts";
import type { ClientConnection } from "../connection/client-connection.ts";
import type { Places } from "../files/places.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";

/** Requested often, and constant. */
const READY = new JsonText('{"status":"ready"}');

export function environmentHandlers(
  environmentInfo: EnvironmentInfo,
  codexHome: CodexHome,
  { places, sandboxes }: { places: Places; sandboxes: Sandboxes },
) {
  return {
    "environment/info": () => environmentInfo,

    "environment/status": () => READY,

    "environmentConfig/read": async (client, { cwd, configPaths, requirementsPaths }) => {
      checkKeyPaths([...configPaths, ...requirementsPaths]);
      const named = directoryAt(cwd, client, places);
      // The client chooses the project, so a sandbox of the server hides its configuration unless it hides nothing.
      const readsDisk = sandboxes.readsDisk(client);
      if (client.rights.sandbox !== undefined && !readsDisk)
        throw new CapabilityError(
          "PERMISSION_DENIED",
          "environmentConfig/read: the policy of this client does not let it read the whole disk",
        );
      const directory = readsDisk ? named : undefined;
      const home = locate(codexHome);
      return {
        userHomeDir: environmentInfo.userHomeDir ?? null,
        codexHomeDir: uriFromPath(home),
        hostname: hostname(),
        config: stack(await readConfigLayers(directory, home, configPaths)),
        requirements: stack(await readRequirementLayers(requirementsPaths)),
      };
    },
  } satisfies Handlers<ClientConnection>;
}

function locate(codexHome: CodexHome): string {
  try {
    return codexHome.locate();
  } catch (error) {
    if (!(error instanceof CapabilityError)) throw error;
    throw new CapabilityError(error.code, `failed to find Codex home: ${error.message}`);
  }
}

/** Undefined for a path that is too long for any directory. */
function directoryAt(uri: string, client: ClientConnection, places: Places): Place | undefined {
  try {
    return places.at(uri, client);
  } catch (error) {
    if (error instanceof CapabilityError && error.errno === "ENAMETOOLONG") return undefined;
    // Here a path of another host is an invalid parameter.
    if (error instanceof CapabilityError) throw invalidParams(error.message);
    throw error;
  }
}

function checkKeyPaths(paths: KeyPaths): void {
  if (paths.length === 0) throw invalidParams("at least one config or requirements path is required");
  if (paths.some((path) => path.length === 0))
    throw invalidParams("TOML paths must contain at least one key segment");
}

/** Layers from the cloud would rank below all layers of this machine. */
function stack(layers: readonly ConfigLayer[]) {
  return {
    layers: layers.map(({ source, baseDirectory, toml }) => ({
      source,
      baseDir: uriFromPath(baseDirectory),
      toml,
    })),
    cloudInsertionIndex: 0,
  };
}

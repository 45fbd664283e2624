import { invalidParams } from "../wire/refusals.ts";
import { hostname } from "node:os";
import { CapabilityError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import {
  type ConfigLayer,
  readConfigLayers,
  readRequirementLayers,
} from "../../capabilities/discovery/codex-config.ts";
import type { KeyPaths } from "../../capabilities/discovery/config-projection.ts";
import type { Location } from "../../capabilities/files/location.ts";
import type { CodexHome } from "../../capabilities/host/codex-home.ts";
import type { Params } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import type { Locations } from "./locations.ts";
import { callInside } from "./confined/call-inside.ts";
import type { FileHelpers } from "./confined/file-helpers.ts";
import type { FilePolicy } from "./confined/file-policy.ts";

const METHOD = "environmentConfig/read";

/** A client's confinement by the server, and the reader to use in that case. */
export interface ConfigConfinement {
  readonly helpers: FileHelpers;
  readonly policyOf: (client: FileClient) => FilePolicy | undefined;
}

/** Without a confinement: this is a helper in a sandbox itself. */
export function environmentConfigHandlers(
  codexHome: CodexHome,
  locations: Locations,
  confinement?: ConfigConfinement,
) {
  const read = async (directory: Location | undefined, params: Params<typeof METHOD>) => {
    const home = locate(codexHome);
    return {
      userHomeDir: uriFromPath(codexHome.userDirectory),
      codexHomeDir: uriFromPath(home),
      hostname: hostname(),
      config: stack(await readConfigLayers(directory, home, params.configPaths)),
      requirements: stack(await readRequirementLayers(params.requirementsPaths)),
    };
  };

  return {
    "environmentConfig/read": async (client, params) => {
      checkKeyPaths([...params.configPaths, ...params.requirementsPaths]);
      const directory = directoryAt(params.cwd, client, locations);
      const policy = confinement?.policyOf(client);
      if (confinement === undefined || policy === undefined) return read(directory, params);
      if (policy.readsDisk)
        return confinement.helpers.use(client, policy, (inside) => callInside(inside, METHOD, params));
      if (client.rights.sandbox !== undefined)
        throw new CapabilityError(
          "PERMISSION_DENIED",
          "environmentConfig/read: this client's policy does not allow it to read the whole disk",
        );
      // The client chooses the project, so a sandbox of the server that hides something hides its configuration.
      return read(undefined, params);
    },
  } satisfies Handlers<FileClient>;
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
function directoryAt(uri: string, client: FileClient, locations: Locations): Location | undefined {
  try {
    return locations.at(uri, client);
  } catch (error) {
    if (error instanceof CapabilityError && error.errno === "ENAMETOOLONG") return undefined;
    // Here, a path of another host is an invalid parameter.
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

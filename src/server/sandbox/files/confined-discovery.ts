import { CapabilityError } from "../../../base/errors.ts";
import type { Params, Result } from "../../../protocol/index.ts";
import { JsonText } from "../../../rpc/json-text.ts";
import type { Handlers } from "../../../rpc/router.ts";
import type { FileClient } from "../../files/file-client.ts";
import { checkPath, type discoveryHandlers, MAX_ROOTS } from "../../handlers/discovery.ts";
import { type Answer, callInside } from "./call-inside.ts";
import type { ConfinedFilesOptions } from "./confined-files.ts";
import type { FilePolicy } from "./file-policy.ts";

type Root = Params<"capabilityRoots/discoverV1">["roots"][number];
type FoundRoots = Result<"capabilityRoots/discoverV1">;

/** The same handlers, except that what has a policy is searched inside its sandbox. */
export function confinedDiscoveryHandlers(
  direct: ReturnType<typeof discoveryHandlers>,
  { places, helpers, policyOf }: ConfinedFilesOptions,
) {
  /** A sandbox that fails concerns only the roots that are to be searched in it. */
  const searchInside = async (client: FileClient, root: Root, policy: FilePolicy): Promise<FoundRoots> => {
    const { id, path } = root;
    try {
      const answer = await helpers.use(client, policy, (inside) =>
        callInside(inside, "capabilityRoots/discoverV1", { roots: [{ id, path }] }),
      );
      return parsed(answer) as FoundRoots;
    } catch (cause) {
      if (!(cause instanceof CapabilityError)) throw cause;
      const error = `failed to inspect capability root ${path}: ${cause.message}`;
      return {
        roots: [{ id, path, plugin: null, skills: [], namespaceManifests: [], warnings: [], error }],
      };
    }
  };

  return {
    "capabilityRoots/discoverV1": async (client, params) => {
      if (params.roots.length > MAX_ROOTS) return direct["capabilityRoots/discoverV1"](client, params);
      const policies = params.roots.map(({ path, sandbox }) => {
        checkPath(path, client, places);
        return policyOf(sandbox, client);
      });
      const found: FoundRoots["roots"] = [];
      for (const [index, root] of params.roots.entries()) {
        const policy = policies[index];
        const { roots } =
          policy === undefined
            ? await direct["capabilityRoots/discoverV1"](client, { roots: [root] })
            : await searchInside(client, root, policy);
        found.push(...roots);
      }
      return { roots: found };
    },

    "capabilities/discoverV2": async (client, params) => {
      checkPath(params.cwd, client, places);
      const policy = policyOf(params.sandbox, client);
      return policy === undefined
        ? direct["capabilities/discoverV2"](client, params)
        : helpers.use(client, policy, (inside) => callInside(inside, "capabilities/discoverV2", params));
    },
  } satisfies Handlers<FileClient>;
}

/** The handler inside is of the same version. */
function parsed(answer: Answer): unknown {
  const text = answer instanceof JsonText ? answer.text : Buffer.concat(answer.parts).toString();
  return JSON.parse(text);
}

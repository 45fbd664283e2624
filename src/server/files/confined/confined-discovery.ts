import { CapabilityError, messageOf } from "../../../base/errors.ts";
import { methods, type Params, type Result } from "../../../protocol/index.ts";
import { parseJson } from "../../../protocol/json-scan.ts";
import { JsonText } from "../../../rpc/json-text.ts";
import type { Handlers } from "../../../rpc/router.ts";
import type { FileClient } from "../file-client.ts";
import { checkPath, type discoveryHandlers, MAX_ROOTS } from "../discovery-handlers.ts";
import { type Answer, callInside } from "./call-inside.ts";
import type { ConfinedFilesOptions } from "./confined-files.ts";
import type { FilePolicy } from "./file-policy.ts";

type Root = Params<"capabilityRoots/discoverV1">["roots"][number];
/** More than one message can carry. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

type DiscoveredRoots = Result<"capabilityRoots/discoverV1">;

/** The same handlers, except that what has a policy is searched inside its sandbox. */
export function confinedDiscoveryHandlers(
  direct: ReturnType<typeof discoveryHandlers>,
  { locations, helpers, policyOf }: ConfinedFilesOptions,
) {
  /** A sandbox that fails concerns only the roots that are to be searched in it. */
  const searchInside = async (
    client: FileClient,
    root: Root,
    policy: FilePolicy,
  ): Promise<DiscoveredRoots> => {
    const { id, path } = root;
    try {
      const answer = await helpers.use(client, policy, (inside) =>
        callInside(inside, "capabilityRoots/discoverV1", { roots: [{ id, path }] }),
      );
      return parsed(answer);
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
        checkPath(path, client, locations);
        return policyOf(sandbox, client);
      });
      const discovered: DiscoveredRoots["roots"] = [];
      for (const [index, root] of params.roots.entries()) {
        const policy = policies[index];
        const { roots } =
          policy === undefined
            ? await direct["capabilityRoots/discoverV1"](client, { roots: [root] })
            : await searchInside(client, root, policy);
        discovered.push(...roots);
      }
      return { roots: discovered };
    },

    "capabilities/discoverV2": async (client, params) => {
      checkPath(params.cwd, client, locations);
      const policy = policyOf(params.sandbox, client);
      return policy === undefined
        ? direct["capabilities/discoverV2"](client, params)
        : helpers.use(client, policy, (inside) => callInside(inside, "capabilities/discoverV2", params));
    },
  } satisfies Handlers<FileClient>;
}

/** Throws an error of the sandbox if it is not an answer. */
function parsed(answer: Answer): DiscoveredRoots {
  try {
    const text = answer instanceof JsonText ? answer.text : textOf(answer.parts);
    const result = methods["capabilityRoots/discoverV1"].result.safeParse(parseJson(text).value);
    if (result.success) return result.data;
  } catch (cause) {
    throw new CapabilityError("OS_ERROR", `fs sandbox helper failed: ${messageOf(cause)}`, { cause });
  }
  throw new CapabilityError("OS_ERROR", "fs sandbox helper failed: it sent invalid roots");
}

function textOf(parts: readonly Uint8Array[]): string {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  if (bytes > MAX_ANSWER_BYTES) throw new Error(`its answer has ${bytes} bytes`);
  return Buffer.concat(parts).toString();
}

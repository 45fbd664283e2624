import type { ProcessStart } from "../../protocol/process.ts";
import { invalidParams } from "../wire/invalid-params.ts";

/** In a sandbox, a managed network is the proxy that comes with it. */
export function refuseManagedNetwork({ enforceManagedNetwork, networkProxy, sandbox }: ProcessStart): void {
  const needsProxy = enforceManagedNetwork === true && sandbox !== undefined && sandbox !== null;
  if (needsProxy && (networkProxy === undefined || networkProxy === null))
    throw invalidParams("enforceManagedNetwork needs a networkProxy: this server manages no other network");
}

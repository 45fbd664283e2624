import { RpcError } from "../../base/errors.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import type { SandboxPolicy } from "../../capabilities/sandbox/sandbox-policy.ts";
import { SandboxRefusal } from "../../capabilities/sandbox/sandbox-refusal.ts";
import { viewOf } from "../../capabilities/sandbox/view-of.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import { dataOf } from "../../rpc/error-wire.ts";
import { sandboxPolicy, type SandboxSubject } from "./sandbox-context.ts";

/** Decides how requests are confined: the one door between a request and what it starts or opens. */
export class Sandboxes {
  /** Hidden in every sandbox. */
  readonly hiddenPaths: readonly string[];

  constructor({ hiddenPaths }: { hiddenPaths: readonly string[] }) {
    this.hiddenPaths = hiddenPaths;
  }

  /**
   * Undefined if the request is not confined. A `proxied` one is, whatever its profile, and its network is the proxy.
   * Throws for a context that is invalid or cannot be enforced.
   */
  policy(
    context: SandboxContext | null | undefined,
    subject: SandboxSubject,
    { proxied = false }: { proxied?: boolean } = {},
  ): SandboxPolicy | undefined {
    if (context === undefined || context === null) return undefined;
    const policy = sandboxPolicy(context, subject);
    return proxied ? { files: "unrestricted", ...policy, network: "proxied" } : policy;
  }

  /** A policy as the disk is now. */
  confinement(policy: SandboxPolicy): Confinement {
    try {
      return { view: viewOf(policy, { masked: this.hiddenPaths }), network: policy.network };
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) throw error;
      throw new RpcError(RpcCode.invalidParams, error.message, { data: dataOf(error), cause: error });
    }
  }
}

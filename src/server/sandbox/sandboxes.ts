import { CapabilityError, RpcError } from "../../base/errors.ts";
import type { FileView } from "../../capabilities/sandbox/view/file-view.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import { narrow, ruleSets, type SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { SandboxRefusal } from "../../capabilities/sandbox/policy/sandbox-refusal.ts";
import { viewInTurns, viewOf } from "../../capabilities/sandbox/view/view-of.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import { dataOf } from "../../rpc/error-wire.ts";
import { sandboxPolicy, type SandboxSubject } from "./sandbox-context.ts";

export interface SandboxesOptions {
  /** Hidden in every sandbox. */
  readonly hiddenPaths: readonly string[];
  /** Applies to every request. A client's own policy can only narrow it. */
  readonly operator?: SandboxPolicy | undefined;
  /** Whether every request must bring a sandbox. */
  readonly isRequired?: boolean | undefined;
}

/** Decides how requests are confined: the one door between a request and what it starts or opens. */
export class Sandboxes {
  /** Hidden in every sandbox. */
  readonly hiddenPaths: readonly string[];
  readonly #operator: SandboxPolicy | undefined;
  readonly #isRequired: boolean;

  constructor({ hiddenPaths, operator, isRequired = false }: SandboxesOptions) {
    this.hiddenPaths = hiddenPaths;
    this.#operator = operator;
    this.#isRequired = isRequired;
  }

  /**
   * Undefined if the request is not confined. A `proxied` one is, whatever its profile, and its network is the proxy.
   * Throws for a context that is invalid or cannot be enforced, and for a missing one if it is required.
   */
  policy(
    context: SandboxContext | null | undefined,
    subject: SandboxSubject,
    { proxied = false }: { proxied?: boolean } = {},
  ): SandboxPolicy | undefined {
    const client =
      context === undefined || context === null ? undefined : clientPolicy(context, subject, proxied);
    if (client === undefined && this.#isRequired)
      throw new CapabilityError(
        "PERMISSION_DENIED",
        "this server requires a sandbox: the request brings none that confines it",
      );
    return this.#operator === undefined ? client : narrow(this.#operator, client);
  }

  /** Throws if the server itself must not reach other machines for its clients. */
  checkNetwork(): void {
    if (this.#operator === undefined || this.#operator.network === "enabled") return;
    throw new CapabilityError("PERMISSION_DENIED", "the sandbox of this server has no network");
  }

  /** The same for connections of any kind, which no sandbox would confine. */
  checkTcp(): void {
    this.checkNetwork();
    if (!this.#isRequired) return;
    throw new CapabilityError(
      "PERMISSION_DENIED",
      "this server requires a sandbox, and tcp/connect has none",
    );
  }

  /** Whether the server may read any file for its clients, without a helper in a sandbox. */
  get readsDisk(): boolean {
    return (
      this.#operator === undefined ||
      ruleSets(this.#operator).every(
        ({ rules }) =>
          rules.every(({ access }) => access !== "deny") &&
          rules.some((rule) => rule.kind === "path" && rule.path === "/"),
      )
    );
  }

  /** A policy as the disk is now. A policy with patterns takes time, and keeps nobody waiting. */
  confinement(policy: SandboxPolicy): Confinement | Promise<Confinement> {
    const options = { masked: this.hiddenPaths };
    const confine = (view: FileView): Confinement => ({ view, network: policy.network });
    const hasPatterns = ruleSets(policy).some(({ rules }) => rules.some(({ kind }) => kind === "glob"));
    if (hasPatterns)
      return viewInTurns(policy, options).then(confine, (error) => Promise.reject(refusal(error)));
    try {
      return confine(viewOf(policy, options));
    } catch (error) {
      throw refusal(error);
    }
  }
}

function refusal(error: unknown): unknown {
  if (!(error instanceof SandboxRefusal)) return error;
  return new RpcError(RpcCode.invalidParams, error.message, { data: dataOf(error), cause: error });
}

function clientPolicy(
  context: SandboxContext,
  subject: SandboxSubject,
  proxied: boolean,
): SandboxPolicy | undefined {
  const policy = sandboxPolicy(context, subject);
  return proxied ? { files: "unrestricted", ...policy, network: "proxied" } : policy;
}

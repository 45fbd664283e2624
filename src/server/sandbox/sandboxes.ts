import { CapabilityError, RpcError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { FileView } from "../../capabilities/sandbox/view/file-view.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import {
  narrow,
  ruleSets,
  type SandboxPolicy,
  SandboxRefusal,
} from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { filesInSharedDirectories, type ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import { viewInTurns, viewOf } from "../../capabilities/sandbox/view/view-of.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import { dataOf } from "../../rpc/error-wire.ts";
import { claimOwnServerDirectory } from "./claim-own-server-directory.ts";
import { sandboxPolicy, type SandboxSubject } from "./sandbox-context.ts";

/** Files are somebody else's affair. */
const PROXIED: SandboxPolicy = { files: "unrestricted", network: "proxied" };

/** What confinement depends on. */
interface Client {
  readonly rights: { readonly sandbox?: SandboxPolicy };
}

export interface SandboxesOptions {
  /** Out of reach in every sandbox. */
  readonly files: ServerFiles;
  /** Applies to every request. A client's own policy can only narrow it. */
  readonly operator?: SandboxPolicy | undefined;
  /** Whether every request must bring a sandbox. */
  readonly isRequired?: boolean | undefined;
  readonly logger?: Logger | undefined;
}

/** Decides how requests are confined: the one door between a request and what it starts or opens. */
export class Sandboxes {
  readonly #files: ServerFiles;
  readonly #operator: SandboxPolicy | undefined;
  readonly #isRequired: boolean;
  readonly #logger: Logger;
  #hasWarned = false;

  constructor({ files, operator, isRequired = false, logger = silentLogger }: SandboxesOptions) {
    this.#files = files;
    this.#operator = operator;
    this.#isRequired = isRequired;
    this.#logger = logger;
  }

  /** Out of reach in every sandbox. */
  get files(): ServerFiles {
    const directory = claimOwnServerDirectory();
    if (directory === undefined) return this.#files;
    return { ...this.#files, maskedPaths: [...(this.#files.maskedPaths ?? []), directory] };
  }

  /**
   * Undefined if the request is not confined. A `proxied` one with a context is, whatever its profile. What is confined,
   * for whatever reason, has the proxy as its network then.
   * Throws for a context that is invalid or cannot be enforced, and for a missing one if it is required.
   */
  policy(
    { rights }: Client,
    context: SandboxContext | null | undefined,
    subject: SandboxSubject,
    { proxied = false }: { proxied?: boolean } = {},
  ): SandboxPolicy | undefined {
    const wanted =
      context === undefined || context === null ? undefined : clientPolicy(context, subject, proxied);
    if (wanted === undefined && this.#isRequired)
      throw new CapabilityError(
        "PERMISSION_DENIED",
        "this server requires a sandbox: the request brings none that confines it",
      );
    const given = this.given(rights);
    const policy = given === undefined ? wanted : narrow(given, wanted ?? (proxied ? PROXIED : undefined));
    if (policy !== undefined) this.#warnOnce();
    return policy;
  }

  /** A server without sandboxes needs no warning. */
  #warnOnce(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    for (const path of filesInSharedDirectories(this.#files))
      this.#logger.warn(
        "sandboxes cannot hide the directory of this file of the server: a program that runs in one can read what is " +
          "put into its place; move the file to a directory of its own",
        { path },
      );
  }

  /** What confines a client whatever it asks for: the policy of the server, and that of its token. */
  given({ sandbox }: Client["rights"]): SandboxPolicy | undefined {
    return this.#operator === undefined ? sandbox : narrow(this.#operator, sandbox);
  }

  /** Throws if the server itself must not reach other machines for a client. */
  checkNetwork({ rights }: Client): void {
    if (rights.sandbox !== undefined && rights.sandbox.network !== "enabled")
      throw new CapabilityError("PERMISSION_DENIED", "the policy of this client has no network");
    if (this.#operator === undefined || this.#operator.network === "enabled") return;
    throw new CapabilityError("PERMISSION_DENIED", "the sandbox of this server has no network");
  }

  /** The same for connections of any kind, which no sandbox would confine. */
  checkTcp(client: Client): void {
    this.checkNetwork(client);
    if (!this.#isRequired) return;
    throw new CapabilityError(
      "PERMISSION_DENIED",
      "this server requires a sandbox, and tcp/connect has none",
    );
  }

  /** A policy as the disk is now. A policy with patterns takes time, and keeps nobody waiting. */
  confinement(policy: SandboxPolicy): Confinement | Promise<Confinement> {
    const options = { files: this.files };
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
  return proxied ? { ...PROXIED, ...policy, network: "proxied" } : policy;
}

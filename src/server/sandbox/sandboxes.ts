import { CapabilityError, RpcError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { OwnFiles } from "../../capabilities/files/own-files.ts";
import type { FileView } from "../../capabilities/sandbox/view/file-view.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import {
  narrow,
  ruleSets,
  type SandboxPolicy,
  SandboxRefusal,
} from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import {
  filesInSharedDirectories,
  isHidden,
  type ServerFiles,
} from "../../capabilities/sandbox/view/server-files.ts";
import { viewInTurns, viewOf } from "../../capabilities/sandbox/view/view-of.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import { dataOf } from "../../rpc/error-wire.ts";
import { claimOwnServerDirectory } from "./claim-own-server-directory.ts";
import { sandboxPolicy, type SandboxSubject } from "./sandbox-context.ts";

/** Leaves files as they are. */
const PROXIED: SandboxPolicy = { files: "unrestricted", network: "proxied" };

type UnixMethod = "unix/connect" | "unix/listen";

/** The client properties that confinement depends on. */
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

/** Decides how requests are confined: the single gate between a request and what it starts or opens. */
export class Sandboxes {
  readonly #options: SandboxesOptions;
  #hasWarned = false;

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** Out of reach in every sandbox. */
  get files(): ServerFiles {
    const directory = claimOwnServerDirectory();
    const { files } = this.#options;
    if (directory === undefined) return files;
    return { ...files, maskedPaths: [...(files.maskedPaths ?? []), directory] };
  }

  /**
   * Undefined if the request is not confined. A `proxied` one with a context is, whatever its profile. If it is
   * confined, for whatever reason, the proxy is its network. Throws for a context that is invalid or cannot be
   * enforced, and for a missing one if it is required.
   */
  policy(
    { rights }: Client,
    context: SandboxContext | null | undefined,
    subject: SandboxSubject,
    { proxied = false }: { proxied?: boolean } = {},
  ): SandboxPolicy | undefined {
    const wanted =
      context === undefined || context === null ? undefined : clientPolicy(context, subject, proxied);
    if (wanted === undefined && this.#options.isRequired)
      throw new CapabilityError(
        "PERMISSION_DENIED",
        "this server requires a sandbox: the request does not bring one that confines it",
      );
    const imposed = this.imposed(rights);
    const policy =
      imposed === undefined ? wanted : narrow(imposed, wanted ?? (proxied ? PROXIED : undefined));
    if (policy !== undefined) this.#warnOnce();
    return policy;
  }

  /** A server without sandboxes needs no warning. */
  #warnOnce(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { files, logger } = this.#options;
    for (const path of filesInSharedDirectories(files))
      logger?.warn(
        "sandboxes cannot hide the directory of this file of the server: a sandboxed program can read whatever is " +
          "put in its place; move the file to its own directory",
        { path },
      );
  }

  /** A client's confinement whatever it requests: the policy of the server, and that of its token. */
  imposed({ sandbox }: Client["rights"]): SandboxPolicy | undefined {
    const { operator } = this.#options;
    return operator === undefined ? sandbox : narrow(operator, sandbox);
  }

  /** Throws if the server itself must not reach other machines for a client. */
  checkNetwork({ rights }: Client): void {
    if (rights.sandbox !== undefined && rights.sandbox.network !== "enabled")
      throw new CapabilityError("PERMISSION_DENIED", "this client's policy allows no network");
    const { operator } = this.#options;
    if (operator === undefined || operator.network === "enabled") return;
    throw new CapabilityError("PERMISSION_DENIED", "this server's sandbox allows no network");
  }

  /** The same for connections of any kind, which no sandbox would confine. */
  checkTcp(client: Client, method: "tcp/connect" | "tcp/listen" | UnixMethod): void {
    this.checkNetwork(client);
    if (!this.#options.isRequired) return;
    throw new CapabilityError("PERMISSION_DENIED", `this server requires a sandbox, and ${method} has none`);
  }

  /** The same for Unix sockets, which are also files. */
  checkUnix(client: Client, method: UnixMethod): void {
    this.checkTcp(client, method);
    if (this.imposed(client.rights) === undefined) return;
    throw new CapabilityError("PERMISSION_DENIED", `a sandbox confines this client, and ${method} has none`);
  }

  /** Throws for the place of a socket that is the server's, and for such a socket itself, whatever its path. */
  checkSocket(path: string, fd?: number): void {
    const { maskedPaths = [], socketPaths = [] } = this.files;
    const isHere = isHidden(path, { hiddenPaths: [], maskedPaths, socketPaths });
    if (isHere || (fd !== undefined && new OwnFiles(socketPaths).has(fd)))
      throw new CapabilityError("PERMISSION_DENIED", `path \`${path}\` belongs to this server`);
  }

  /** Applies a policy to the disk's current state. A policy with patterns takes time, but does not block others. */
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

import { invalidParams } from "../../wire/refusals.ts";
import type { RpcError } from "../../../base/errors.ts";
import { readPlainFile, readPlainMetadata } from "../../../capabilities/files/plain-file.ts";
import type { MethodName } from "../../../protocol/index.ts";
import type { SandboxContext } from "../../../protocol/sandbox.ts";
import type { Attachment } from "../../../rpc/incoming-request.ts";
import { DeferredAnswer } from "../../../rpc/deferred-answer.ts";
import type { FileClient } from "../file-client.ts";
import { perClient } from "../../wire/per-client.ts";
import { watchesOf } from "../watches.ts";
import { handlesOf, longFile, noBase64, shortFile } from "../contents.ts";
import type { Locations } from "../locations.ts";
import type { fileHandlers } from "../file-handlers.ts";
import { metadataOnWire } from "../entries.ts";
import { RpcCode } from "../../../protocol/errors.ts";
import { type AnyParams, type Answer, callInside, type Contents, contentsOf } from "./call-inside.ts";
import type { Confined, FileHelpers } from "./file-helpers.ts";
import type { FilePolicy } from "./file-policy.ts";

type FileHandlers = ReturnType<typeof fileHandlers>;
type AnyHandler = (client: FileClient, params: AnyParams, attachment?: Attachment) => unknown;

const FOLLOWED = { followSymlinks: true };
/** Parameters that are paths. */
const PATHS = ["path", "sourcePath", "destinationPath", "from", "to"] as const;

export interface ConfinedFilesOptions {
  readonly locations: Locations;
  readonly helpers: FileHelpers;
  /** The policy of a request; undefined if it is not confined. Throws for a context that makes no sense. */
  readonly policyOf: (
    sandbox: SandboxContext | null | undefined,
    client: FileClient,
  ) => FilePolicy | undefined;
}

/**
 * The same handlers, except that a request with a policy is answered by a helper inside its sandbox. The parameters are
 * checked here in the order of the real server: paths, the policy, then the rest.
 */
export function confinedFileHandlers(handlers: FileHandlers, options: ConfinedFilesOptions): FileHandlers {
  const confined = new ConfinedFiles(options);
  const wrapped = Object.entries(handlers as unknown as Record<string, AnyHandler>).map(
    ([method, direct]) => [method, confined.handler(method as MethodName, direct)],
  );
  // Each handler has the parameters and result of the one it wraps.
  return Object.fromEntries(wrapped) as FileHandlers;
}

/** A request that is answered inside a sandbox. */
interface ConfinedCall {
  readonly client: FileClient;
  readonly policy: FilePolicy;
  readonly method: MethodName;
  readonly params: AnyParams;
  readonly attachment: Attachment | undefined;
}

class ConfinedFiles {
  readonly #options: ConfinedFilesOptions;
  /** The helper in which a client's handle is open. */
  readonly #handlesOf = perClient<FileClient, Map<string, Confined>>(() => new Map());
  readonly #missing = new WeakMap<FileClient, Confined>();

  constructor(options: ConfinedFilesOptions) {
    this.#options = options;
  }

  handler(method: MethodName, direct: AnyHandler): AnyHandler {
    switch (method) {
      case "fs/readBlock":
      case "fs/writeBlock":
      case "fs/close":
        return (client, params, attachment) => {
          const inside = this.#handlesOf(client).get(String(params["handleId"]));
          return inside === undefined
            ? direct(client, params, attachment)
            : this.#onHandle(client, inside, method, params, attachment);
        };
      case "fs/unwatch":
        // The watches themselves know where they are.
        return direct;
      default:
        return (client, params, attachment) => {
          const policy = this.#policyOf(client, params);
          if (policy === undefined) return direct(client, params, attachment);
          const call = { client, policy, method, params, attachment };
          return this.#readPlain(call) ?? this.#inside(call);
        };
    }
  }

  #policyOf(client: FileClient, params: AnyParams): FilePolicy | undefined {
    const sandbox = params["sandbox"] as SandboxContext | null | undefined;
    if (sandbox !== undefined && sandbox !== null)
      for (const name of PATHS) if (name in params) this.#options.locations.at(String(params[name]), client);
    return this.#options.policyOf(sandbox, client);
  }

  /** Answers immediately what needs no helper: files that everyone who may read the disk can read. */
  #readPlain({ client, policy, method, params }: ConfinedCall): unknown {
    if (method !== "fs/readFile" && method !== "fs/getMetadata") return undefined;
    if (params["followSymlinks"] === false || !policy.readsDisk) return undefined;
    const { path, followSymlinks } = this.#options.locations
      .at(String(params["path"]), client)
      .check(FOLLOWED);
    // The roots of the server are enforced in the helper as well.
    if (!followSymlinks) return undefined;
    const mayRead = (realPath: string): boolean => policy.isUnmasked(realPath);
    if (method === "fs/getMetadata") {
      const metadata = readPlainMetadata(path, mayRead);
      return metadata && metadataOnWire(metadata, params);
    }
    const contents = readPlainFile(path, mayRead);
    if (contents === undefined) return undefined;
    const maxBytes = Number(params["maxBytes"] ?? Number.POSITIVE_INFINITY);
    return contents.length > maxBytes ? longFile(contents.length) : shortFile(contents);
  }

  #inside(call: ConfinedCall): Promise<unknown> | DeferredAnswer<Answer> {
    switch (call.method) {
      case "fs/open":
      case "fs/openPart":
        return this.#open(call);
      case "fs/hash":
        return new DeferredAnswer(this.#forward(call));
      case "fs/watch":
        return this.#watch(call);
      case "fs/watchMissing":
        return this.#watchMissing(call);
      case "fs/writeFile":
        return this.#forward(call, contentsOf(call.params, "dataBase64", call.attachment, noBase64));
      default:
        return this.#forward(call);
    }
  }

  #forward(call: ConfinedCall, body?: Contents): Promise<Answer> {
    return this.#use(call, (inside) => callInside(inside, call.method, call.params, body));
  }

  #use<T>({ client, policy }: ConfinedCall, work: (inside: Confined) => Promise<T>): Promise<T> {
    return this.#options.helpers.use(client, policy, work);
  }

  async #open(call: ConfinedCall): Promise<Answer> {
    const { client, method, params } = call;
    const handleId = String(params["handleId"]);
    handlesOf(client).reserve(handleId);
    try {
      return await this.#use(call, async (inside) => {
        const answer = await callInside(inside, method, params);
        inside.handles.add(handleId);
        this.#handlesOf(client).set(handleId, inside);
        return answer;
      });
    } catch (error) {
      handlesOf(client).close(handleId);
      throw error;
    }
  }

  async #onHandle(
    client: FileClient,
    inside: Confined,
    method: "fs/readBlock" | "fs/writeBlock" | "fs/close",
    params: AnyParams,
    attachment: Attachment | undefined,
  ): Promise<unknown> {
    const handleId = String(params["handleId"]);
    const body =
      method === "fs/writeBlock" ? contentsOf(params, "chunk", attachment, invalidParams) : undefined;
    const forget = (): void => {
      inside.handles.delete(handleId);
      this.#handlesOf(client).delete(handleId);
      handlesOf(client).close(handleId);
    };
    return this.#options.helpers.again(inside, async () => {
      if (method === "fs/close") {
        forget();
        // A helper that is gone has closed it.
        return inside.helper.isUsable ? await callInside(inside, method, params) : {};
      }
      try {
        return await callInside(inside, method, params, body);
      } catch (error) {
        // A read that fails closes the file.
        const hasClosed = method === "fs/readBlock" && (error as RpcError).rpcCode === RpcCode.internal;
        if (hasClosed && inside.helper.isUsable) forget();
        throw error;
      }
    });
  }

  async #watch(call: ConfinedCall): Promise<unknown> {
    const { client, params } = call;
    const watchId = String(params["watchId"]);
    await watchesOf(client).add(watchId, (notify) =>
      this.#use(call, async (inside) => {
        // The first change may come before the answer.
        inside.watches.set(watchId, notify);
        try {
          await callInside(inside, "fs/watch", params);
        } catch (error) {
          inside.watches.delete(watchId);
          throw error;
        }
        return () => this.#unwatch(inside, watchId);
      }),
    );
    return {};
  }

  #unwatch(inside: Confined, watchId: string): void {
    if (!inside.watches.delete(watchId)) return;
    const stopped = this.#options.helpers.again(inside, () => callInside(inside, "fs/unwatch", { watchId }));
    // A helper that is gone watches nothing.
    stopped.catch(() => {});
  }

  #watchMissing(call: ConfinedCall): Promise<Answer> {
    const { client, params } = call;
    return this.#use(call, async (inside) => {
      const earlier = this.#missing.get(client);
      if (earlier !== undefined && earlier !== inside) {
        earlier.watchesMissing = false;
        await this.#options.helpers
          .again(earlier, () => callInside(earlier, "fs/watchMissing", { ...params, missing: [] }))
          .catch(() => {});
      }
      inside.watchesMissing = true;
      this.#missing.set(client, inside);
      return callInside(inside, "fs/watchMissing", params);
    });
  }
}

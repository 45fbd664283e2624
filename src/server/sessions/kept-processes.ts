import { RpcError } from "../../base/errors.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Keep } from "../../protocol/process.ts";
import { FULL_RIGHTS, type Rights } from "../access/rights.ts";
import { limitError } from "../settings/limit-error.ts";
import type { ServerLimits } from "../settings/limits.ts";
import type { ProcessSlot } from "./process-quota.ts";
import { type ProcessEntry, ProcessTable, type StartDetails } from "./process-table.ts";
import { refusal } from "../wire/refusals.ts";
import { Attachment } from "./attachment.ts";
import { hasRightsOf, type KeptClient, modeFor } from "./kept-access.ts";
import { Audience } from "./audience.ts";

export interface KeptProcessOptions {
  readonly starter: ProcessStarter;
  readonly limits: Pick<ServerLimits, "maxKeptProcesses" | "keptProcessRetentionMs">;
  /** A share of the server's processes, for one principal. */
  readonly share: (principal: string) => () => ProcessSlot;
  /** Throws if a principal has as many processes as its rights allow. */
  readonly check: (principal: string, rights: Rights) => void;
  /** Called for each process; the result is called when it is forgotten. */
  readonly enter: () => () => void;
}

/**
 * Processes that belong to the server instead of a session. Each principal has its own, and sees no others except by a
 * grant.
 */
export class KeptProcesses {
  readonly #options: KeptProcessOptions;
  readonly #tables = new Map<string, ProcessTable>();
  #ended = false;

  constructor(options: KeptProcessOptions) {
    this.#options = options;
  }

  /** Processes of a principal by their names; undefined if it has none. */
  of(principal: string): ProcessTable | undefined {
    return this.#tables.get(principal);
  }

  /** Every process that a client may at least follow, with its owner. */
  *visibleTo(client: KeptClient): IterableIterator<{ owner: string; name: string; entry: ProcessEntry }> {
    for (const [owner, table] of this.#tables)
      for (const [name, entry] of table)
        if (modeFor(client, owner, entry) !== undefined) yield { owner, name, entry };
  }

  /**
   * The owner of the process that a client means by a name alone: itself, or the only other one whose process of that
   * name it may follow. Throws if there are several.
   */
  ownerOf(name: string, client: KeptClient): string {
    const { principal } = client;
    const own = this.of(principal)?.get(name);
    if (own !== undefined && modeFor(client, principal, own) !== undefined) return principal;
    if (this.of(principal)?.starting(name) !== undefined) return principal;
    const owners = [...this.visibleTo(client)].flatMap((each) => (each.name === name ? [each.owner] : []));
    if (owners.length > 1)
      throw refusal(
        "INVALID_INPUT",
        `several have a kept process ${name}: ${owners.join(", ")}; give its owner`,
      );
    return owners[0] ?? principal;
  }

  /** Attaches to a process of a principal; undefined if there is none of that name. */
  attachment(
    owner: string,
    name: string,
    options: { readonly mode: "follow" | "control"; readonly connection: object },
  ): Attachment | undefined {
    const table = this.of(owner);
    const entry = table?.get(name);
    if (table === undefined || entry === undefined) return undefined;
    return new Attachment({ table, key: name, entry }, { owner, ...options });
  }

  /**
   * Starts a process under a name, after any start with that name that is in progress. Throws if the name is taken or
   * there are too many.
   */
  async start(
    principal: string,
    { name, replace = false }: Keep,
    request: StartRequest,
    { started, ...details }: StartDetails,
  ): Promise<void> {
    for (;;) {
      const other = this.of(principal)?.starting(name);
      if (other === undefined) break;
      await other;
    }
    if (this.#ended) throw new RpcError(RpcCode.internal, "the server is closing");
    if (details.rights !== undefined) this.#options.check(principal, details.rights);
    const table = this.of(principal) ?? this.#createTable(principal);
    const maxKeptProcesses = Math.min(
      this.#options.limits.maxKeptProcesses,
      details.rights?.limits.maxKeptProcesses ?? Number.POSITIVE_INFINITY,
    );
    checkName(table.get(name), { name, replace }, details.rights ?? FULL_RIGHTS);
    if (table.unclosed >= maxKeptProcesses)
      throw limitError("maxKeptProcesses", maxKeptProcesses, "too many kept processes have not ended");
    await table.start(name, request, {
      ...details,
      createAudience: (process) => new Audience((size) => process.terminal?.resize(size)),
      started: () => {
        while (table.size > maxKeptProcesses && table.forgetOldest());
        started?.();
      },
    });
  }

  /** Kills everything that is kept; resolves when it has ended. */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(Array.from(this.#tables.values(), (table) => table.killAll()));
  }

  #createTable(principal: string): ProcessTable {
    for (const [other, { size, unclosed }] of this.#tables)
      if (size === 0 && unclosed === 0) this.#tables.delete(other);
    const take = this.#options.share(principal);
    const table: ProcessTable = new ProcessTable({
      starter: this.#options.starter,
      retentionMs: this.#options.limits.keptProcessRetentionMs,
      maxUnheard: 0,
      takeSlot: () => {
        const slot = take();
        // What has ended can still be read, so the server is not idle before it is forgotten.
        slot.freed = this.#options.enter();
        return slot;
      },
      started: () => {},
      // Nobody has to know of the end: it is retained for a time in any case.
      closed: () => {},
    });
    this.#tables.set(principal, table);
    return table;
  }
}

function checkName(existing: ProcessEntry | undefined, { name, replace }: Keep, rights: Rights): void {
  if (existing === undefined) return;
  if (!hasRightsOf(rights, existing))
    throw refusal(
      "ALREADY_EXISTS",
      `the name ${name} is taken by a kept process that this client started with other rights; choose another name`,
    );
  const { exitCode, closed } = existing.process.state;
  if (closed && replace) return;
  const state = closed
    ? "has ended, and is replaced only on request"
    : exitCode === undefined
      ? "is running"
      : "has exited, but something that it started keeps its output open";
  throw refusal("ALREADY_EXISTS", `the kept process ${name} ${state}`);
}

import { RpcError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Keep } from "../../protocol/process.ts";
import type { Party } from "../access/credential.ts";
import { FULL_RIGHTS, type Rights } from "../access/rights.ts";
import { limitError, type ServerLimits } from "../settings/limits.ts";
import type { ProcessQuota } from "./process-quota.ts";
import { type ProcessEntry, ProcessTable, type StartDetails } from "./process-table.ts";
import { refusal } from "../wire/refusals.ts";
import { Attachment } from "./attachment.ts";
import { hasRightsOf, modeFor } from "./kept-access.ts";
import { Audience } from "./audience.ts";

export interface KeptProcessOptions {
  readonly starter: ProcessStarter;
  readonly limits: Pick<ServerLimits, "maxKeptProcesses" | "keptProcessRetentionMs">;
  readonly quota: ProcessQuota;
  readonly logger: Logger;
  /** Called for each process; the result is called when it is forgotten. */
  readonly enter: () => () => void;
}

/** Names of forgotten processes that are remembered, of all principals. */
const MAX_FORGOTTEN_NAMES = 4096;

/** Reasons for clients that ask for the process. */
const FORGOTTEN = {
  age: "was forgotten after its retention time (keptProcessRetentionMs)",
  number: "was forgotten to make room for newer ones (maxKeptProcesses)",
  request: "was forgotten on a client's request",
} as const;

interface ForgottenProcess extends Pick<ProcessEntry, "rights"> {
  readonly cause: keyof typeof FORGOTTEN;
}

/**
 * Processes that belong to the server instead of a session. Each principal has its own, and sees no others except by a
 * grant.
 */
export class KeptProcesses {
  readonly #options: KeptProcessOptions;
  readonly #tables = new Map<string, ProcessTable>();
  /** By owner and name, the oldest first. */
  readonly #forgotten = new Map<string, ForgottenProcess>();
  #ended = false;

  constructor(options: KeptProcessOptions) {
    this.#options = options;
  }

  /** Processes of a principal by their names; undefined if it has none. */
  of(principal: string): ProcessTable | undefined {
    return this.#tables.get(principal);
  }

  /** Every process that a client may at least follow, with its owner. */
  *visibleTo(client: Party): IterableIterator<{ owner: string; name: string; entry: ProcessEntry }> {
    for (const [owner, table] of this.#tables)
      for (const [name, entry] of table)
        if (modeFor(client, owner, entry) !== undefined) yield { owner, name, entry };
  }

  /**
   * The owner of the process that a client means by a bare name: itself, or the only other one whose process of that
   * name it may follow. Throws if there are several.
   */
  ownerOf(name: string, client: Party): string {
    const { principal } = client;
    const own = this.of(principal)?.get(name);
    if (own !== undefined && modeFor(client, principal, own) !== undefined) return principal;
    if (this.of(principal)?.starting(name) !== undefined) return principal;
    const owners = [...this.visibleTo(client)].flatMap((each) => (each.name === name ? [each.owner] : []));
    if (owners.length > 1)
      throw refusal(
        "INVALID_INPUT",
        `several owners have a kept process ${name}: ${owners.join(", ")}; name the owner`,
      );
    return owners[0] ?? principal;
  }

  /** Why a process that a client could see was forgotten; undefined if that is unknown. */
  whyForgotten(owner: string, name: string, client: Party): string | undefined {
    const forgotten = this.#forgotten.get(forgottenKey(owner, name));
    if (forgotten === undefined || modeFor(client, owner, forgotten) === undefined) return undefined;
    return `it ended, and ${FORGOTTEN[forgotten.cause]}`;
  }

  /** Attaches to a principal's process; undefined if it does not exist. */
  attachment(
    owner: string,
    name: string,
    options: { readonly mode: "follow" | "control"; readonly connection: object },
  ): Attachment | undefined {
    const table = this.of(owner);
    const entry = table?.get(name);
    if (table === undefined || entry === undefined) return undefined;
    return new Attachment({ table, entry }, { owner, ...options });
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
    if (details.rights !== undefined) this.#options.quota.checkOwn(principal, details.rights);
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
        this.#forgotten.delete(forgottenKey(principal, name));
        while (table.size > maxKeptProcesses && table.forgetOldest());
        started?.();
      },
    });
  }

  /** Gives a principal's process another name. Throws if its owner has one of that name, or is starting one. */
  rename(owner: string, entry: ProcessEntry, name: string): void {
    const table = this.of(owner);
    if (table === undefined || name === entry.id) return;
    if (table.get(name) !== undefined || table.starting(name) !== undefined)
      throw refusal("ALREADY_EXISTS", `there is already a kept process ${name}`);
    this.#options.logger.info("a kept process was renamed", { principal: owner, name: entry.id, to: name });
    table.rename(entry, name);
    this.#forgotten.delete(forgottenKey(owner, name));
  }

  /** Kills everything that is kept; resolves when it has ended. */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(Array.from(this.#tables.values(), (table) => table.killAll()));
  }

  #createTable(principal: string): ProcessTable {
    for (const [other, { size, unclosed }] of this.#tables)
      if (size === 0 && unclosed === 0) this.#tables.delete(other);
    const take = this.#options.quota.shareOfKept(principal);
    const table: ProcessTable = new ProcessTable({
      starter: this.#options.starter,
      retentionMs: this.#options.limits.keptProcessRetentionMs,
      // Its end need not be delivered: it is retained for a time in any case.
      maxUnheard: 0,
      takeSlot: () => {
        const slot = take();
        // An ended process can still be read, so the server is not idle until it is forgotten.
        slot.freed = this.#options.enter();
        return slot;
      },
      forgotten: ({ id: name, rights }, cause) => {
        this.#options.logger.info("a kept process was forgotten", { principal, name, cause });
        if (cause === "replaced") return;
        this.#forgotten.set(forgottenKey(principal, name), { cause, ...(rights && { rights }) });
        const [oldest] = this.#forgotten.keys();
        if (this.#forgotten.size > MAX_FORGOTTEN_NAMES && oldest !== undefined)
          this.#forgotten.delete(oldest);
      },
    });
    this.#tables.set(principal, table);
    return table;
  }
}

function forgottenKey(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
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
      : "has exited, but a program that it started keeps its output open";
  throw refusal("ALREADY_EXISTS", `the kept process ${name} ${state}`);
}

import { randomUUID } from "node:crypto";
import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Party } from "../access/credential.ts";
import { isAnonymous } from "../access/principal.ts";
import { reaches } from "../access/rights.ts";
import { limitError } from "../settings/limits.ts";
import { refusal } from "../wire/refusals.ts";
import type { Peer } from "../wire/peer.ts";
import type { Session } from "./session.ts";

/** A connection that holds a session, or claims one. The principal and the rights decide whose sessions it can have. */
export interface SessionHolder extends Party {
  readonly peer: Peer;
  /** Resolves with whether its client has given a sign of life within 2 s; with false as soon as it is gone. */
  isAlive(): Promise<boolean>;
  /** Called when another connection takes over its session. */
  surrender(): void;
}

interface Entry {
  readonly session: Session;
  /** The client that opened it. */
  readonly owner: Party;
  /** Undefined while the session waits for its client to reconnect. */
  holder: SessionHolder | undefined;
  expiry: NodeJS.Timeout | undefined;
  /** The server may count as idle without it. */
  readonly leave: () => void;
}

export interface SessionRegistryOptions {
  readonly create: (id: string, owner: Party) => Session;
  readonly detachedTtlMs: number;
  readonly maxSessions: number;
  /** Called for each session; the result is called when it is gone. */
  readonly enter: () => () => void;
}

/** Finds sessions again after their connection was lost, until they expire. */
export class SessionRegistry {
  readonly #options: SessionRegistryOptions;
  readonly #sessions = new Map<string, Entry>();

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** All of them, the oldest first. */
  *described(): IterableIterator<{ session: Session; owner: string; isConnected: boolean }> {
    for (const { session, owner, holder } of this.#sessions.values())
      yield { session, owner: owner.principal, isConnected: holder !== undefined };
  }

  *[Symbol.iterator](): IterableIterator<Session> {
    for (const { session } of this.#sessions.values()) yield session;
  }

  /** Those that a client could resume. */
  *withinReachOf(client: Party): IterableIterator<Session> {
    for (const { session, owner } of this.#sessions.values()) if (isSameParty(owner, client)) yield session;
  }

  open(holder: SessionHolder): Session {
    const { maxSessions, create, enter } = this.#options;
    if (this.#sessions.size >= maxSessions)
      throw limitError("maxSessions", maxSessions, "the server has too many sessions");
    const owner = { principal: holder.principal, rights: holder.rights };
    this.#checkOwn(owner);
    const session = create(randomUUID(), owner);
    this.#sessions.set(session.id, { session, owner, holder, expiry: undefined, leave: enter() });
    session.attach(holder);
    return session;
  }

  #checkOwn({ principal, rights }: Party): void {
    const { maxSessions } = rights.limits;
    if (maxSessions === undefined) return;
    let count = 0;
    for (const { owner } of this.#sessions.values()) if (owner.principal === principal) count += 1;
    if (count >= maxSessions)
      throw limitError("maxSessions", maxSessions, "this token has too many sessions");
  }

  /** Throws an RpcError if the session does not exist, or is out of reach for this client. */
  get(id: string, client: Party): Session {
    return this.#entry(id, client).session;
  }

  /**
   * Attaches a connection to a session without one, or to one whose client gives no sign of life: a failed network does
   * not report anything, and the client may be back before the server notices.
   */
  resume(id: string, claimant: SessionHolder): Session | Promise<Session> {
    const entry = this.#entry(id, claimant);
    const { holder } = entry;
    if (holder === undefined) return this.#attach(entry, claimant);
    if (holder.principal !== claimant.principal) throw attached(id);
    return holder.isAlive().then((isAlive) => this.#takeOver(id, { from: holder, to: claimant, isAlive }));
  }

  #takeOver(
    id: string,
    { from, to, isAlive }: { from: SessionHolder; to: SessionHolder; isAlive: boolean },
  ): Session {
    // The session may have ended meanwhile.
    const entry = this.#entry(id, to);
    if (to.peer.ended) throw new RpcError(RpcCode.internal, "the connection has ended");
    if (entry.holder === undefined) return this.#attach(entry, to);
    // Another connection may have been quicker.
    if (isAlive || entry.holder !== from) throw attached(id);
    entry.session.detach();
    from.surrender();
    return this.#attach(entry, to);
  }

  #attach(entry: Entry, holder: SessionHolder): Session {
    clearTimeout(entry.expiry);
    entry.holder = holder;
    entry.session.attach(holder);
    return entry.session;
  }

  /** A session of others does not exist. */
  #entry(id: string, client: Party): Entry {
    const entry = this.#sessions.get(id);
    if (entry === undefined || !isSameParty(entry.owner, client))
      throw refusal("NOT_FOUND", `unknown session id ${id}`);
    return entry;
  }

  /** The session's connection is gone; it can be resumed until it expires. */
  detach(session: Session): void {
    const entry = this.#sessions.get(session.id);
    session.detach();
    if (entry === undefined) return;
    entry.holder = undefined;
    entry.expiry = setTimeout(() => void this.end(session), this.#options.detachedTtlMs).unref();
  }

  async end(session: Session, others?: Promise<void>): Promise<void> {
    const entry = this.#sessions.get(session.id);
    clearTimeout(entry?.expiry);
    this.#sessions.delete(session.id);
    await session.end(others).finally(entry?.leave);
  }

  /** `others` is the end of other processes, whose last events are sent, too. */
  async endAll(others: Promise<void>): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), ({ session }) => this.end(session, others)));
  }
}

function isSameParty(owner: Party, client: Party): boolean {
  if (!reaches(client.rights, owner.rights)) return false;
  return (
    owner.principal === client.principal || (isAnonymous(owner.principal) && isAnonymous(client.principal))
  );
}

function attached(id: string): RpcError {
  return new RpcError(RpcCode.sessionAttached, `session ${id} is already attached to another connection`);
}

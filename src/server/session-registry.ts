import { randomUUID } from "node:crypto";
import { RpcError } from "../base/errors.ts";
import { RpcCode } from "../protocol/errors.ts";
import { limitError } from "./limit-error.ts";
import type { Peer } from "./peer.ts";
import type { Session } from "./session.ts";

/** Finds sessions again after their connection was lost, for as long as they wait. */
export class SessionRegistry {
  readonly #create: (id: string) => Session;
  readonly #detachedTtlMs: number;
  readonly #maxSessions: number;
  readonly #sessions = new Map<string, { session: Session; expiry: NodeJS.Timeout | undefined }>();

  constructor(options: { create: (id: string) => Session; detachedTtlMs: number; maxSessions: number }) {
    this.#create = options.create;
    this.#detachedTtlMs = options.detachedTtlMs;
    this.#maxSessions = options.maxSessions;
  }

  *[Symbol.iterator](): IterableIterator<Session> {
    for (const { session } of this.#sessions.values()) yield session;
  }

  open(peer: Peer): Session {
    if (this.#sessions.size >= this.#maxSessions)
      throw limitError("maxSessions", this.#maxSessions, "the server has too many sessions");
    const session = this.#create(randomUUID());
    this.#sessions.set(session.id, { session, expiry: undefined });
    session.attach(peer);
    return session;
  }

  /** Throws an RpcError when there is no such session. */
  get(id: string): Session {
    return this.#entry(id).session;
  }

  resume(id: string, peer: Peer): Session {
    const entry = this.#entry(id);
    if (entry.session.attached)
      throw new RpcError(RpcCode.sessionAttached, `session ${id} is already attached to another connection`);
    clearTimeout(entry.expiry);
    entry.session.attach(peer);
    return entry.session;
  }

  #entry(id: string): { session: Session; expiry: NodeJS.Timeout | undefined } {
    const entry = this.#sessions.get(id);
    if (entry === undefined) throw new RpcError(RpcCode.invalidRequest, `unknown session id ${id}`);
    return entry;
  }

  /** The session's connection is gone; it may be resumed until it expires. */
  detach(session: Session): void {
    const entry = this.#sessions.get(session.id);
    session.detach();
    if (entry === undefined) return;
    entry.expiry = setTimeout(() => void this.end(session), this.#detachedTtlMs).unref();
  }

  async end(session: Session): Promise<void> {
    clearTimeout(this.#sessions.get(session.id)?.expiry);
    this.#sessions.delete(session.id);
    await session.end();
  }

  async endAll(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), ({ session }) => this.end(session)));
  }
}

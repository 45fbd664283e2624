import { randomBytes } from "node:crypto";
import { defined } from "../base/defined.ts";
import { type Admission, answerDials, type AnsweredDials } from "./answer-dials.ts";
import { type Beat, isNewer } from "./beat.ts";
import { decodeBeat, encodeBeat } from "./beat-message.ts";
import type { Bus } from "./bus.ts";
import { beatSubject, checkExecutorId, isClientInbox, ROLL_CALL } from "./subjects.ts";

const BEAT_MS = 2_000;
/** An older run that comes back is answered, but not each of its beats. */
const REMIND_MS = 500;
/** Calls within this time are answered together: everyone hears every beat. Far less than callers wait for. */
const CALLS_MS = 20;
/** Further ones hear the beat. */
const MAX_CALLERS = 1_000;

/** The parts of a beat that change. */
export type Condition = Pick<Beat, "running" | "free" | "load" | "state">;

export interface MembershipOptions {
  readonly bus: Bus;
  readonly id: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly version?: string | undefined;
  readonly maxMessageBytes?: number | undefined;
  readonly condition: () => Condition;
  /** See `answerDials`. */
  readonly admit: (dial: { token: string | undefined; from: string }) => Promise<Admission>;
  /** A newer executor of the same name has joined: this one has left, and its connections have ended. */
  readonly replaced: () => void;
}

/** An executor as a part of a fleet: it is seen, it can be dialled, and it gives way to a newer one of its name. */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #self: Pick<Beat, "id" | "run" | "since" | "labels" | "version">;
  readonly #dials: AnsweredDials;
  readonly #timer: NodeJS.Timeout;
  readonly #stops: readonly (() => void)[];
  #remindedAt = Number.NEGATIVE_INFINITY;
  /** Subjects at which calls are to be answered. */
  readonly #callers = new Set<string>();
  #answeredAt = Number.NEGATIVE_INFINITY;
  #callTimer: NodeJS.Timeout | undefined;
  #hasLeft = false;

  constructor(options: MembershipOptions) {
    const { bus, id, labels = {}, version } = options;
    this.#options = options;
    const run = randomBytes(9).toString("base64url");
    this.#self = { id: checkExecutorId(id), run, since: Date.now(), labels, ...defined({ version }) };
    const { maxMessageBytes, admit } = options;
    this.#dials = answerDials({ bus, id, instance: run, maxMessageBytes, admit });
    this.#stops = [
      bus.subscribe(beatSubject(id), ({ data }) => this.#hear(decodeBeat(data))),
      bus.subscribe(ROLL_CALL, ({ reply }) => this.#answerRollCall(reply)),
      bus.watch({ reconnected: () => this.announce(), ended: () => {} }),
    ];
    this.#timer = setInterval(() => this.announce(), BEAT_MS).unref();
    this.announce();
  }

  /** Announces the condition now. */
  announce(): void {
    this.#options.bus.publish(beatSubject(this.#self.id), this.#beat());
  }

  /** Is seen no more, and takes no further connections. Those it has end with the reason. */
  leave(reason: string): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    clearInterval(this.#timer);
    clearTimeout(this.#callTimer);
    for (const stop of this.#stops) stop();
    this.#options.bus.publish(beatSubject(this.#self.id), this.#beat("gone"));
    this.#dials.close(reason);
  }

  #beat(state?: Beat["state"]): Buffer {
    const condition = this.#options.condition();
    return encodeBeat({ ...this.#self, ...condition, state: state ?? condition.state });
  }

  #answerRollCall(caller: string | undefined): void {
    if (caller !== undefined && isClientInbox(caller) && this.#callers.size < MAX_CALLERS)
      this.#callers.add(caller);
    const leftMs = this.#answeredAt + CALLS_MS - performance.now();
    if (leftMs <= 0) this.#answerCalls();
    else this.#callTimer ??= setTimeout(() => this.#answerCalls(), leftMs).unref();
  }

  /** A caller learns that this executor has answered; the condition is sent only on its own subject. */
  #answerCalls(): void {
    clearTimeout(this.#callTimer);
    this.#callTimer = undefined;
    this.#answeredAt = performance.now();
    this.announce();
    for (const caller of this.#callers) this.#options.bus.publish(caller, Buffer.alloc(0));
    this.#callers.clear();
  }

  /** Its own beats are delivered back, too. */
  #hear(beat: Beat | undefined): void {
    if (beat === undefined || beat.id !== this.#self.id) return;
    if (beat.run === this.#self.run || beat.state === "gone") return;
    if (isNewer(beat, this.#self)) {
      this.leave(`a newer executor named ${this.#self.id} has joined the fleet`);
      this.#options.replaced();
      return;
    }
    const now = performance.now();
    if (now - this.#remindedAt < REMIND_MS) return;
    this.#remindedAt = now;
    this.announce();
  }
}

import { availableParallelism, loadavg } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pause } from "../../base/deadlines.ts";
import { ConnectionError, messageOf, UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { natsOptions } from "../../fleet/address.ts";
import type { Admission } from "../../fleet/answer-dials.ts";
import type { FleetAddress } from "../../fleet/fleet-address.ts";
import { checkLabels } from "../../fleet/labels.ts";
import { type Condition, Membership } from "../../fleet/membership.ts";
import { NatsBus } from "../../fleet/nats-bus.ts";
import { isAway } from "../../fleet/open-failure.ts";
import { checkExecutorId } from "../../fleet/subjects.ts";
import type { Authenticator } from "../access/authentication.ts";
import { RefusalLog } from "../access/refusal-log.ts";
import type { ObservedServer } from "./server.ts";

const MAX_SLOTS = 100_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
/** Interval for logging that NATS is still unreachable. */
const COMPLAINT_MS = 60_000;

/** The fleet that a server joins, and as what. */
export interface FleetOptions extends Omit<FleetAddress, "inbox"> {
  /** Name of this executor: up to 64 letters, digits, `-` and `_`. A newer executor of the same name replaces it. */
  readonly id: string;
  /**
   * Labels by which clients choose executors. Names and values have letters, digits and `. _ / -`, values also `: @ +`.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * How many processes it should run at a time; a hint for clients that choose an executor. Default: its number of
   * cores.
   */
  readonly slots?: number;
  /**
   * Whether to keep trying if NATS cannot be reached at the start. The server starts in the meantime, or waits if it
   * listens nowhere else. Default: false, starting fails.
   */
  readonly keepTrying?: boolean;
  /** A newer executor of the same name has joined: this one has left the fleet for good. */
  readonly replaced?: () => void;
}

/** The context of joining. */
interface JoinSurroundings {
  readonly authenticator: Authenticator | undefined;
  readonly logger: Logger;
  readonly version: string | undefined;
  readonly maxMessageBytes: number | undefined;
}

/** A server's membership of a fleet. */
export interface JoinedFleet {
  /** Announces the server's condition at once. */
  announce(): void;
  leave(): Promise<void>;
}

/** Joins a fleet. If NATS is away and the options allow it, later: `waits` says whether to resolve only then. */
export async function enterFleet(
  server: ObservedServer,
  options: FleetOptions,
  surroundings: JoinSurroundings & { readonly waits: boolean },
): Promise<JoinedFleet> {
  const join = (): Promise<JoinedFleet> => joinFleet(server, options, surroundings);
  const { logger, waits } = surroundings;
  try {
    return await join();
  } catch (error) {
    if (options.keepTrying !== true || !isAway(error)) throw error;
    logger.warn("cannot join the fleet yet", { id: options.id, reason: messageOf(error) });
  }
  const joinedFleet = new LateJoin(join, { id: options.id, logger, isPatient: !waits });
  if (waits) await joinedFleet.joined;
  return joinedFleet;
}

interface LateJoinOptions {
  readonly id: string;
  readonly logger: Logger;
  /** Whether to keep trying even if NATS answers, but refuses. */
  readonly isPatient: boolean;
}

/** Joins as soon as NATS is there. */
class LateJoin implements JoinedFleet {
  /** Settles when it no longer tries. */
  readonly joined: Promise<void>;
  readonly #over = new AbortController();
  #joinedFleet: JoinedFleet | undefined;

  constructor(join: () => Promise<JoinedFleet>, options: LateJoinOptions) {
    this.joined = this.#try(join, options);
    // It need not be awaited, so it must not be an unhandled rejection.
    this.joined.catch(() => {});
  }

  announce(): void {
    this.#joinedFleet?.announce();
  }

  async leave(): Promise<void> {
    this.#over.abort();
    await this.#joinedFleet?.leave();
  }

  async #try(join: () => Promise<JoinedFleet>, { id, logger, isPatient }: LateJoinOptions): Promise<void> {
    let complainedAt = performance.now();
    let complaint: string | undefined;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      await pause(wait, this.#over.signal);
      if (this.#over.signal.aborted) return;
      try {
        const joinedFleet = await join();
        if (this.#over.signal.aborted) {
          await joinedFleet.leave();
          return;
        }
        this.#joinedFleet = joinedFleet;
        logger.info("joined the fleet", { id });
        return;
      } catch (error) {
        if (!isPatient && !isAway(error)) throw error;
        const reason = messageOf(error);
        const now = performance.now();
        if (isAway(error) ? now - complainedAt < COMPLAINT_MS : reason === complaint) continue;
        complainedAt = now;
        complaint = reason;
        logger.warn("cannot join the fleet yet", { id, reason });
      }
    }
  }
}

/** Makes a server part of a fleet. Resolves when it can be dialled. */
async function joinFleet(
  server: ObservedServer,
  options: FleetOptions,
  { authenticator, logger, version, maxMessageBytes }: JoinSurroundings,
): Promise<JoinedFleet> {
  checkExecutorId(options.id);
  checkLabels(options.labels ?? {});
  checkSlots(options.slots);
  const bus = await NatsBus.open({ ...natsOptions(options), name: `exec-server ${options.id}` });
  const denials = new RefusalLog(logger);
  let refusal: string | undefined;
  let denied: string | undefined;
  let hasLeft = false;
  bus.watch({
    disconnected: () => {
      if (!hasLeft) logger.warn("the connection to the fleet is lost", { id: options.id });
    },
    reconnected: () => {
      refusal = undefined;
      logger.warn("reconnected to the fleet", { id: options.id });
    },
    // Reported for each attempt, several times a second.
    refused: (reason) => {
      if (reason === refusal) return;
      refusal = reason;
      logger.warn("cannot rejoin the fleet yet", { id: options.id, reason });
    },
    denied: (subject) => {
      denied ??= subject;
      // Clients choose where they are answered, and could fill the log.
      denials.warn("NATS does not permit this executor to use a subject", { id: options.id, subject });
    },
    ended: (reason) => {
      if (!hasLeft) logger.error("the connection to the fleet is lost for good", { id: options.id, reason });
    },
  });
  const cores = availableParallelism();
  const slots = options.slots ?? cores;
  const membership = new Membership({
    bus,
    id: options.id,
    ...(options.labels === undefined ? {} : { labels: options.labels }),
    version,
    maxMessageBytes,
    condition: (): Condition => {
      const { runningProcesses: running, isDraining, isCordoned } = server.state();
      const load = Math.round(((loadavg()[0] ?? 0) / cores) * 100) / 100;
      const state = isDraining ? "draining" : isCordoned ? "cordoned" : "ready";
      return { running, free: Math.max(0, slots - running), load, state };
    },
    admit: (dial) => admit(server, authenticator, dial),
    replaced: () => {
      logger.warn("a newer executor of the same name has joined the fleet: this one has left", {
        id: options.id,
      });
      hasLeft = true;
      void bus.close();
      options.replaced?.();
    },
  });
  const unwatch = server.cordon.watch(() => membership.announce());
  const leave = async (): Promise<void> => {
    unwatch();
    hasLeft = true;
    membership.leave("the server is closing");
    await bus.close();
  };
  try {
    await bus.flush();
  } catch (error) {
    await leave();
    throw error;
  }
  // A denial arrives before the answer to the flush, but is reported in a later turn.
  await nextTurn();
  if (denied === undefined) return { announce: () => membership.announce(), leave };
  await leave();
  throw new ConnectionError(`NATS does not permit this executor to use the subject ${denied}`);
}

function checkSlots(slots: number | undefined): void {
  if (slots !== undefined && !(Number.isSafeInteger(slots) && slots >= 1 && slots <= MAX_SLOTS))
    throw new UsageError(`an executor has 1 to ${MAX_SLOTS} slots, not ${slots}`);
}

/** The same decisions as about a WebSocket. */
async function admit(
  server: ObservedServer,
  authenticator: Authenticator | undefined,
  { token, from }: { token: string | undefined; from: string },
): Promise<Admission> {
  const authorization = token === undefined ? undefined : `Bearer ${token}`;
  // Clients choose the names of their inboxes, so wrong tokens are slowed down for the fleet as a whole.
  const answer = await authenticator?.authenticate({ authorization, from: "fleet" });
  if (answer !== undefined && "refusal" in answer) {
    server.observer?.refused?.({ cause: "login", reason: answer.refusal, from });
    return { refusal: answer.refusal, status: 401 };
  }
  const refusal = server.refusal(answer?.credential);
  if (refusal !== undefined) {
    server.observer?.refused?.({ cause: "limit", reason: refusal, from });
    return { refusal, status: 503 };
  }
  const credential = answer === undefined ? {} : { credential: answer.credential };
  return { accept: (transport) => server.accept(transport, { ...credential, from }) };
}

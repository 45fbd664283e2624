import { pause } from "../../base/deadlines.ts";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { isAway } from "../../fleet/open-failure.ts";
import type { ObservedServer } from "./server.ts";
import type { FleetOptions } from "./fleet-options.ts";
import { type JoinedFleet, joinFleet, type JoinSurroundings } from "./join-fleet.ts";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
/** How often it is logged that NATS is still away. */
const COMPLAINT_MS = 60_000;

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
    logger.warn("the fleet cannot be joined yet", { id: options.id, reason: messageOf(error) });
  }
  const joinedFleet = new LateJoin(join, { id: options.id, logger, isPatient: !waits });
  if (waits) await joinedFleet.joined;
  return joinedFleet;
}

/** Joins as soon as NATS is there. */
class LateJoin implements JoinedFleet {
  /** Settles when it no longer tries. */
  readonly joined: Promise<void>;
  readonly #over = new AbortController();
  #joinedFleet: JoinedFleet | undefined;

  constructor(
    join: () => Promise<JoinedFleet>,
    options: { readonly id: string; readonly logger: Logger; readonly isPatient: boolean },
  ) {
    this.joined = this.#try(join, options);
    // Without anybody who waits, it does not fail.
    this.joined.catch(() => {});
  }

  announce(): void {
    this.#joinedFleet?.announce();
  }

  async leave(): Promise<void> {
    this.#over.abort();
    await this.#joinedFleet?.leave();
  }

  /** `isPatient`: also if NATS answers, but refuses. */
  async #try(
    join: () => Promise<JoinedFleet>,
    { id, logger, isPatient }: { readonly id: string; readonly logger: Logger; readonly isPatient: boolean },
  ): Promise<void> {
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
        logger.warn("the fleet cannot be joined yet", { id, reason });
      }
    }
  }
}

import { availableParallelism, loadavg } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ConnectionError, UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { natsOptions } from "../../fleet/address.ts";
import type { Admission } from "../../fleet/answer-dials.ts";
import { checkLabels } from "../../fleet/labels.ts";
import { type Condition, Membership } from "../../fleet/membership.ts";
import { NatsBus } from "../../fleet/nats-bus.ts";
import { checkExecutorId } from "../../fleet/subjects.ts";
import type { Authenticator } from "../access/authentication.ts";
import { LoginLog } from "../access/refused-logins.ts";
import type { ObservedServer } from "./server.ts";
import type { FleetOptions } from "./fleet-options.ts";

const MAX_SLOTS = 100_000;

/** What joining depends on. */
export interface JoinSurroundings {
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

/** Makes a server part of a fleet. Resolves when it can be dialled. */
export async function joinFleet(
  server: ObservedServer,
  options: FleetOptions,
  { authenticator, logger, version, maxMessageBytes }: JoinSurroundings,
): Promise<JoinedFleet> {
  checkExecutorId(options.id);
  checkLabels(options.labels ?? {});
  checkSlots(options.slots);
  const bus = await NatsBus.open({ ...natsOptions(options), name: `exec-server ${options.id}` });
  const denials = new LoginLog(logger);
  let refusal: string | undefined;
  let denied: string | undefined;
  let hasLeft = false;
  bus.watch({
    disconnected: () => {
      if (!hasLeft) logger.warn("the connection to the fleet is lost", { id: options.id });
    },
    reconnected: () => {
      refusal = undefined;
      logger.warn("connected to the fleet again", { id: options.id });
    },
    // Reported for each attempt, several times a second.
    refused: (reason) => {
      if (reason === refusal) return;
      refusal = reason;
      logger.warn("the fleet cannot be joined again yet", { id: options.id, reason });
    },
    denied: (subject) => {
      denied ??= subject;
      // Clients choose where they are answered, and could fill the log.
      denials.warn("NATS does not permit this executor to use a subject", { id: options.id, subject });
    },
    ended: (reason) => {
      if (!hasLeft) logger.error("the fleet is lost for good", { id: options.id, reason });
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
  // A denial comes before the answer to the flush, but is reported in a later step.
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

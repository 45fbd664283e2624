import { after, formatDuration } from "../base/duration.ts";
import type { Transport } from "../transport/transport.ts";
import type { Bus, BusMessage } from "./bus.ts";
import { DialError } from "./dial-error.ts";
import { abortFrame, FrameKind, jsonFrame, readJson } from "./frames.ts";
import type { Mailboxes } from "./mailboxes.ts";
import { checkExecutorId, dialSubject, FLEET_PROTOCOL, isExecutorInbox, runOf } from "./subjects.ts";
import { VirtualConnection } from "./virtual-connection.ts";

/** A dial or its answer may be lost while one of the two connects again. */
const REPEAT_MS = 1_000;
/** An executor that moves to another NATS server is nowhere meanwhile, for less than this. */
const MOVE_MS = 1_500;
const MOVED_MS = 100;
const NOT_CONNECTED = "no executor of this name is connected to the fleet";
const MAX_REASON_CHARACTERS = 512;

export interface DialOptions {
  readonly token?: string | undefined;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** The connection has ended. */
  readonly ended?: () => void;
}

/** Calls `heard` with the run of each beat of the executor, until the returned function is called. */
export type FollowRuns = (id: string, heard: (run: string) => void) => () => void;

/**
 * Opens a connection to an executor. Rejects with a DialError, soon if the executor does not exist, or with the
 * signal's reason.
 */
export function dial(
  bus: Bus,
  mailboxes: Mailboxes,
  id: string,
  { followRuns, ...options }: DialOptions & { readonly followRuns?: FollowRuns } = {},
): Promise<Transport> {
  const { token, timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
  const subject = dialSubject(checkExecutorId(id));
  return new Promise((resolve, reject) => {
    let connection: VirtualConnection | undefined;
    let chosen: string | undefined;
    let absentSince: number | undefined;
    /** Whether the last question had no receivers. */
    let isAbsent = false;
    let askAgain: NodeJS.Timeout | undefined;
    const mailbox = mailboxes.add((message) => {
      const kind = message.isUndeliverable ? undefined : message.data[0];
      if (connection === undefined) answer(message);
      else if (kind === FrameKind.accept) choose(acceptedBy(message, id));
      // Another executor of the same name refuses what the chosen one has accepted.
      else if (kind !== FrameKind.refuse) connection.receive(message);
    });
    const settle = (): void => {
      cancelTimer();
      clearInterval(repeat);
      clearTimeout(askAgain);
      unwatch();
      signal?.removeEventListener("abort", abort);
    };
    const fail = (error: unknown): void => {
      settle();
      mailbox.remove();
      reject(error);
    };
    const failed = (why: string, details?: { code?: "TIMED_OUT"; status?: number }): void =>
      fail(new DialError(why, details, id));
    const abort = (): void => fail(signal?.reason);
    const cancelTimer = after(timeoutMs, () => {
      const time = formatDuration(timeoutMs);
      if (!bus.isConnected)
        failed(`the connection to NATS was lost and did not come back within ${time}`, { code: "TIMED_OUT" });
      else if (isAbsent) failed(NOT_CONNECTED);
      else failed(`it did not answer within ${time}`, { code: "TIMED_OUT" });
    });
    const unwatch = bus.watch({
      reconnected: () => ask(),
      denied: (denied) => {
        if (denied === subject || denied === mailboxes.subject)
          failed(`NATS does not permit this client to use the subject ${denied}`, { status: 403 });
      },
      ended: (reason) => failed(reason),
    });
    const ask = (): void => {
      isAbsent = false;
      // JSON leaves out a token that is undefined.
      const frame = jsonFrame(FrameKind.dial, { version: FLEET_PROTOCOL, token });
      if (bus.isConnected) bus.publish(subject, frame, mailbox.subject);
    };
    const repeat = setInterval(ask, REPEAT_MS);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    else ask();

    function answer(message: BusMessage): void {
      if (message.isUndeliverable) {
        noteAbsence();
        return;
      }
      if (message.data[0] === FrameKind.refuse) {
        const { reason, status } = readJson(message.data);
        const why = typeof reason === "string" ? reason.slice(0, MAX_REASON_CHARACTERS) : "it refused";
        failed(why, typeof status === "number" ? { status } : {});
        return;
      }
      if (message.data[0] === FrameKind.accept) choose(acceptedBy(message, id));
    }

    function noteAbsence(): void {
      const now = performance.now();
      absentSince ??= now;
      isAbsent = true;
      clearTimeout(askAgain);
      if (now - absentSince >= MOVE_MS) failed(NOT_CONNECTED);
      else askAgain = setTimeout(ask, MOVED_MS);
    }

    /** Two executors may use one name for a moment: the first to answer is chosen, and the other is notified. */
    function choose(peer: string | undefined): void {
      if (peer === undefined || peer === chosen) return;
      if (chosen !== undefined) {
        bus.publish(peer, abortFrame("another executor of the same name was chosen"));
        return;
      }
      settle();
      chosen = peer;
      const run = runOf(peer);
      let heard = run;
      const opened = new VirtualConnection({
        bus,
        own: mailbox.subject,
        peer,
        isDialler: true,
        peerName: `executor ${id}`,
        isReplaced: () => heard !== run,
        ended: () => {
          unfollow?.();
          mailbox.remove();
          options.ended?.();
        },
      });
      const unfollow = followRuns?.(id, (other) => {
        heard = other;
        // A beat alone does not end anything: otherwise anyone who may publish one could end connections.
        if (other !== run) opened.ask();
      });
      connection = opened;
      resolve(opened);
    }
  });
}

function acceptedBy(message: BusMessage, id: string): string | undefined {
  const { subject } = readJson(message.data);
  return typeof subject === "string" && isExecutorInbox(subject, id) ? subject : undefined;
}

import { messageOf } from "../base/errors.ts";
import type { Transport } from "../transport/transport.ts";
import type { Bus, BusMessage } from "./bus.ts";
import { FrameKind, jsonFrame, readJson } from "./frames.ts";
import { Mailboxes } from "./mailboxes.ts";
import { dialSubject, executorInbox, FLEET_PROTOCOL, isClientInbox } from "./subjects.ts";
import { VirtualConnection } from "./virtual-connection.ts";

const MAX_DIAL_BYTES = 64 * 1024;
const MAX_PENDING_DIALS = 256;

/** The refusal of a dial, with the status that HTTP would have, or what takes the connection. */
export type Admission =
  | { readonly refusal: string; readonly status: number }
  | { readonly accept: (transport: Transport) => void };

export interface AnswerOptions {
  readonly bus: Bus;
  readonly id: string;
  /** Name of this run of the executor; the subjects of its connections begin with it. */
  readonly instance: string;
  readonly maxMessageBytes?: number | undefined;
  /** Decides about a client that shows this token. `from` names its inbox. */
  readonly admit: (dial: { token: string | undefined; from: string }) => Promise<Admission>;
}

export interface AnsweredDials {
  /** Stops answering, and ends the connections with the reason. */
  close(reason: string): void;
}

/** Answers dials to an executor. */
export function answerDials({ bus, id, instance, maxMessageBytes, admit }: AnswerOptions): AnsweredDials {
  const mailboxes = new Mailboxes(bus, executorInbox(id, instance), isClientInbox);
  /** By the client's inbox: a repeated dial gets the same answer. */
  const accepted = new Map<string, { readonly subject: string; readonly connection: VirtualConnection }>();
  const pending = new Set<string>();
  const unsubscribe = bus.subscribe(dialSubject(id), (message) => void answer(message));
  let isClosed = false;
  return {
    close: (reason) => {
      isClosed = true;
      unsubscribe();
      for (const { connection } of accepted.values()) connection.destroy(reason);
      mailboxes.close();
    },
  };

  async function answer({ data, reply, isUndeliverable }: BusMessage): Promise<void> {
    if (reply === undefined || !isClientInbox(reply) || isUndeliverable || pending.has(reply)) return;
    const earlier = accepted.get(reply);
    if (earlier !== undefined) {
      bus.publish(reply, acceptFrame(earlier.subject));
      return;
    }
    if (data[0] !== FrameKind.dial || data.length > MAX_DIAL_BYTES) return;
    if (pending.size >= MAX_PENDING_DIALS) {
      refuse(reply, "the executor has too many pending connections", 503);
      return;
    }
    pending.add(reply);
    try {
      await decide(reply, readJson(data));
    } catch (error) {
      refuse(reply, messageOf(error), 500);
    } finally {
      pending.delete(reply);
    }
  }

  async function decide(
    client: string,
    { version, token }: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    if (version !== FLEET_PROTOCOL) {
      refuse(client, `the executor speaks version ${FLEET_PROTOCOL} of the fleet protocol`, 400);
      return;
    }
    const from = `fleet ${client.split(".")[1]}`;
    const admission = await admit({ token: typeof token === "string" ? token : undefined, from });
    if ("refusal" in admission) {
      refuse(client, admission.refusal, admission.status);
      return;
    }
    if (isClosed) return;
    let connection: VirtualConnection | undefined;
    const mailbox = mailboxes.add((message) => connection?.receive(message));
    connection = new VirtualConnection({
      bus,
      own: mailbox.subject,
      peer: client,
      isDialler: false,
      peerName: "client",
      from,
      maxMessageBytes,
      ended: () => {
        mailbox.remove();
        accepted.delete(client);
      },
    });
    accepted.set(client, { subject: mailbox.subject, connection });
    bus.publish(client, acceptFrame(mailbox.subject));
    admission.accept(connection);
  }

  function refuse(client: string, reason: string, status: number): void {
    bus.publish(client, jsonFrame(FrameKind.refuse, { reason, status }));
  }
}

function acceptFrame(subject: string): Buffer {
  return jsonFrame(FrameKind.accept, { subject });
}

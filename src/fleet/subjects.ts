import { UsageError } from "../base/errors.ts";

/** Version of the protocol between clients and executors. */
export const FLEET_PROTOCOL = 1;

/** One token of a subject. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const MAX_SUBJECT_CHARACTERS = 200;
/** A subject of tokens without wildcards. */
const PLAIN_SUBJECT = /^[A-Za-z0-9_$-]+(?:\.[A-Za-z0-9_$-]+)+$/;

/**
 * Below this, clients receive: `_INBOX.NAME.PROGRAM.CONNECTION`, with a name to which NATS can restrict each user. A
 * client without a name leaves it out.
 */
export const INBOXES = "_INBOX";

export function isExecutorId(id: string): boolean {
  return ID.test(id);
}

/** Throws a UsageError for a name that cannot be part of a subject. */
export function checkExecutorId(id: string): string {
  if (isExecutorId(id)) return id;
  throw new UsageError(
    `invalid executor name ${JSON.stringify(id)}; expected up to 64 letters, digits, - and _, the first a letter or digit`,
  );
}

/** Subject on which an executor is dialled. */
export function dialSubject(id: string): string {
  return `exec.${id}.dial`;
}

/** Subject on which an executor announces itself, and the one that covers all of them. */
export function beatSubject(id: string): string {
  return `exec.${id}.beat`;
}
export const BEATS = "exec.*.beat";

/** Every executor answers a message on this subject. */
export const ROLL_CALL = "fleet.call";

/** Below this, one run of an executor receives: a later run of the same name gets nothing of it. */
export function executorInbox(id: string, instance: string): string {
  return `exec.${id}.${instance}`;
}

/** The run to which a connection of an executor leads. */
export function runOf(connection: string): string | undefined {
  return connection.split(".")[2];
}

export function isClientInbox(subject: string): boolean {
  return subject.startsWith(`${INBOXES}.`) && isPlain(subject);
}

export function isExecutorInbox(subject: string, id: string): boolean {
  return subject.startsWith(`exec.${id}.`) && isPlain(subject);
}

/** A connection of any executor: `exec.ID.RUN.CONNECTION`. */
export function isConnectionOfExecutor(subject: string): boolean {
  return subject.startsWith("exec.") && subject.split(".").length === 4 && isPlain(subject);
}

function isPlain(subject: string): boolean {
  return subject.length <= MAX_SUBJECT_CHARACTERS && PLAIN_SUBJECT.test(subject);
}

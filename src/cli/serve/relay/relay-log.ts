import type { Logger } from "../../../base/logger.ts";
import type { RecordEvent, RelayEvent } from "../../../relay/service/relay-event.ts";
import { RefusalLog } from "../../../server/access/refusal-log.ts";
import type { Audit } from "../../../server/audit/audit.ts";

const MESSAGES: Readonly<Record<Exclude<RelayEvent, "refused">, string>> = {
  register: "an executor has registered",
  supersede: "an executor was superseded",
  online: "an executor is connected",
  offline: "an executor is gone",
  connect: "a client was admitted",
  validate: "an executor has asked about a client",
  stream: "a client has a stream",
  disconnect: "a client is gone",
  revoke: "a token has ended",
  drain: "the relay admits no more clients",
};

/** Records what a relay does in its log and, if there is one, in its audit log. */
export function recorder(logger: Logger, audit: Audit | undefined): RecordEvent {
  const refusals = new RefusalLog(logger);
  return (event, facts) => {
    if (event === "refused") {
      const { code, from, ...asked } = facts as { code: string; from: string };
      // Strangers must not fill a disk.
      refusals.warn("a request was refused", facts);
      audit?.refused({ cause: "request", reason: [code, ...Object.values(asked)].join(" "), from });
    } else {
      logger.info(MESSAGES[event], facts);
      audit?.relay(event, facts, "");
    }
  };
}

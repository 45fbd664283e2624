import type { Logger } from "../../base/logger.ts";
import { shorten } from "../../base/shorten.ts";
import type { ServerObserver } from "../settings/observer.ts";

/** Logs every answer with its trace, for debugging. */
export function requestLog(logger: Logger): ServerObserver {
  return {
    answered({ connection, method, startedAtMs, traceparent }, { error }) {
      logger.debug("answered", {
        method: shorten(method),
        ms: Math.round(1000 * (performance.now() - startedAtMs)) / 1000,
        session: connection.session,
        // Messages may repeat what a client sent, such as a session id, which gives access to the session.
        ...(error === undefined ? {} : { code: error.code }),
        ...(traceparent === undefined ? {} : { traceparent }),
      });
    },
  };
}

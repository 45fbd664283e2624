import { encodeBase64 } from "../../base/base64.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { NotificationName } from "../../protocol/index.ts";
import { type BulkMessage, bulkMessage } from "./bulk-message.ts";

/** Encodes an event as a notification. `processIdJson` is the process id as JSON. */
export function eventMessage(processIdJson: string, event: ProcessEvent): BulkMessage {
  const { kind, seq } = event;
  switch (kind) {
    case "output":
      return bulkMessage(
        `{"method":"process/output","params":{"processId":${processIdJson},"seq":${seq},"stream":"${event.stream}","chunk":"`,
        event.bytes,
        '"}}',
      );
    case "exited":
      return {
        message: `{"method":"process/exited","params":{"processId":${processIdJson},"seq":${seq},"exitCode":${event.exitCode},"sandboxDenied":${event.sandboxDenied},"exit":${JSON.stringify(event.report)}}}`,
      };
    case "closed":
      return { message: `{"method":"process/closed","params":{"processId":${processIdJson},"seq":${seq}}}` };
  }
}

/** The same notification as a value. */
export function eventNotification(
  processId: string,
  event: ProcessEvent,
): { method: NotificationName; params: object } {
  const { kind, seq } = event;
  switch (kind) {
    case "output":
      return {
        method: "process/output",
        params: { processId, seq, stream: event.stream, chunk: encodeBase64(event.bytes) },
      };
    case "exited":
      return {
        method: "process/exited",
        params: {
          processId,
          seq,
          exitCode: event.exitCode,
          sandboxDenied: event.sandboxDenied,
          exit: event.report,
        },
      };
    case "closed":
      return { method: "process/closed", params: { processId, seq } };
  }
}

import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
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

import { expect, it } from "vitest";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import { type NotificationName, notifications } from "../../protocol/index.ts";
import { eventMessage } from "./event-message.ts";

const report = { signal: "SIGKILL", cpuTimeMs: { user: 1, system: 2 } };

it.each<[ProcessEvent, { method: NotificationName; params: object }]>([
  [
    { kind: "output", seq: 1, stream: "stderr", bytes: Buffer.from("a\n") },
    { method: "process/output", params: { processId: 'p"', seq: 1, stream: "stderr", chunk: "YQo=" } },
  ],
  [
    { kind: "exited", seq: 2, exitCode: 137, report, sandboxDenied: true },
    {
      method: "process/exited",
      params: { processId: 'p"', seq: 2, exitCode: 137, sandboxDenied: true, exit: report },
    },
  ],
  [
    { kind: "closed", seq: 3 },
    { method: "process/closed", params: { processId: 'p"', seq: 3 } },
  ],
])("an event becomes a notification of the wire: %j", (event, notification) => {
  const { message } = eventMessage(JSON.stringify('p"'), event);
  expect(JSON.parse(Buffer.from(message).toString())).toEqual(notification);
  expect(() => notifications[notification.method].params.parse(notification.params)).not.toThrow();
});

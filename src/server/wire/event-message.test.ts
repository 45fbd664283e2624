import { expect, it } from "vitest";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import { notifications } from "../../protocol/index.ts";
import { eventMessage, eventNotification } from "./event-message.ts";

const report = { signal: "SIGKILL", cpuTimeMs: { user: 1, system: 2 } };

it.each<[ProcessEvent, object]>([
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
])("an event is the same notification as text and as a value: %j", (event, notification) => {
  const { message } = eventMessage(JSON.stringify('p"'), event);
  expect(JSON.parse(Buffer.from(message).toString())).toEqual(notification);
  const value = eventNotification('p"', event);
  expect(value).toEqual(notification);
  expect(() => notifications[value.method].params.parse(value.params)).not.toThrow();
});

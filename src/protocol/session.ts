import * as z from "zod";
import { V0_PROTOCOL_VERSION } from "./command.ts";
import { method, notification } from "./define.ts";
import { EnvironmentInfo } from "./environment.ts";
import { optional } from "./fields.ts";

export const sessionMethods = {
  initialize: method({
    doc: "Opens a session, or attaches to one that lost its connection. Must be the first request; allowed once per connection.",
    family: null,
    extensionParams: ["urgentInput"],
    params: () =>
      z.object({
        clientName: z.string(),
        resumeSessionId: optional(z.string()).describe(
          "Session to attach to; absent or null opens a new one",
        ),
        urgentInput: optional(z.boolean()).describe(
          "Input for a running process (`process/write`, `process/closeStdin`) need not wait for requests about other things that were sent before it, such as the copying of a large file",
        ),
      }),
    result: () =>
      z.object({
        sessionId: z.string(),
        environmentInfo: EnvironmentInfo().optional(),
        protocolVersion: z
          .literal(V0_PROTOCOL_VERSION)
          .optional()
          .describe("The oldest dialect that the server also speaks; Codex has none"),
      }),
  }),
};

export const sessionNotifications = {
  initialized: notification({
    doc: "Ends the handshake. Every method but `initialize` is refused before it.",
    from: "client",
    params: () => z.unknown(),
  }),
};

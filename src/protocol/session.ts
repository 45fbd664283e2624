import * as z from "zod";
import { V0_PROTOCOL_VERSION } from "./command-v0.ts";
import { method, notification } from "./define.ts";
import { EnvironmentInfo } from "./environment.ts";
import { nullableFlag, optional } from "./fields.ts";

export const sessionMethods = {
  initialize: method({
    doc: "Opens a session, or resumes one that lost its connection. Must be the first request; allowed once per connection.",
    family: null,
    right: "session",
    lost: "unknown",
    answers: "eventually",
    extensionParams: ["urgentInput", "reportStarts"],
    params: () => ({
      clientName: z.string(),
      resumeSessionId: optional(z.string()).describe("Session to resume; absent or null opens a new one"),
      urgentInput: nullableFlag(
        "Lets input for a running process (`process/write`, `process/closeStdin`) pass earlier requests about other things, such as copying a large file",
      ),
      reportStarts: nullableFlag(
        "Also reports every start of this connection by `process/started`, or `process/failed`",
      ),
    }),
    result: () => ({
      sessionId: z.string(),
      environmentInfo: EnvironmentInfo().optional(),
      protocolVersion: z
        .literal(V0_PROTOCOL_VERSION)
        .optional()
        .describe("Oldest dialect that the server also speaks; absent on a Codex server"),
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

import * as z from "zod";
import { type Infer, method, schema } from "./define.ts";
import { NoParams, PathUri, Unsigned } from "./fields.ts";

export const ClientRights = schema(() =>
  z.object({
    principal: z.string().describe("Whom the client is taken for, as in `owner` of `process/list`"),
    preset: z.string().describe("`full`, `sandboxed`, `files` or `observe`"),
    allowed: z
      .array(z.string())
      .describe(
        "Any of `session`, `info`, `settings`, `discovery`, `readFiles`, `writeFiles`, `start`, `control`, `follow`, `network`, `operate`, `audit`, `manage`",
      ),
    scopes: z.array(z.string()).describe("Scopes of `process/list` that are not refused"),
    roots: z.array(PathUri()).optional().describe("The only directories within reach, if there are such"),
  }),
);
/** What a client may do on a server. */
export type ClientRights = Infer<typeof ClientRights>;

export const serverStatusMethods = {
  "server/status": method({
    doc: "Tells which program serves, and how busy it is.",
    family: "environment status",
    right: "info",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    extension: true,
    params: NoParams,
    result: () =>
      z.object({
        pid: Unsigned().describe("Process id of the server on its machine"),
        startedAtMs: Unsigned().describe("Milliseconds since the epoch"),
        connections: Unsigned(),
        sessions: Unsigned().describe("Including those that wait for their client to reconnect"),
        runningProcesses: Unsigned().describe("Processes of all clients that have not ended"),
        cordoned: z
          .boolean()
          .optional()
          .describe("Whether it is to get no new work; see `server/cordon`. Absent from older servers"),
        rights: ClientRights().optional().describe("What this client may do. Absent from older servers"),
      }),
  }),
};

import * as z from "zod";
import { type Infer, methodsWith, object } from "./define.ts";
import { Empty, flag, NoParams, PathUri, Unsigned } from "./fields.ts";

export const ClientRights = object(() => ({
  principal: z.string().describe("Whom the client is taken for, as in `owner` of `process/list`"),
  preset: z.string().describe("`full`, `sandboxed`, `files` or `observe`"),
  allowed: z
    .array(z.string())
    .describe(
      "Any of `session`, `info`, `settings`, `discovery`, `readFiles`, `writeFiles`, `start`, `control`, `follow`, `network`, `operate`, `audit`, `manage`",
    ),
  scopes: z.array(z.string()).describe("Scopes of `process/list` that are not refused"),
  roots: z.array(PathUri()).optional().describe("The only directories within reach, if there are such"),
}));
/** What a client may do on a server. */
export type ClientRights = Infer<typeof ClientRights>;

/** Values at the same times as all others of `server/metrics`. */
const Values = (doc: string) => z.array(z.number().min(0)).describe(doc);

const statusMethod = methodsWith({
  family: "environment status",
  lost: "repeat",
  answers: "promptly",
  lane: "control",
  extension: true,
});

/** Methods with which a server describes itself, and operators control it. */
export const serverStatusMethods = {
  "server/status": statusMethod({
    doc: "Tells which program serves, and how busy it is.",
    right: "info",
    params: NoParams,
    result: () => ({
      pid: Unsigned().describe("Process id of the server on its machine"),
      startedAtMs: Unsigned().describe("Milliseconds since the epoch"),
      connections: Unsigned(),
      sessions: Unsigned().describe("Including those that wait for their client to reconnect"),
      runningProcesses: Unsigned().describe("Processes of all clients that have not ended"),
      cordoned: flag("Whether it is to get no new work; see `server/cordon`. Absent from older servers"),
      rights: ClientRights().optional().describe("What this client may do. Absent from older servers"),
      program: z
        .array(z.string())
        .optional()
        .describe(
          "Command line of exec-server on the server's machine, to start its other commands there. Absent if the server is part of another program",
        ),
    }),
  }),
  "console/link": statusMethod({
    doc: "Makes a link to the web console, with the rights of this connection. It works once.",
    right: "session",
    params: NoParams,
    result: () => ({
      token: z.string().describe("A browser opens `http://HOST:PORT/#link=TOKEN`"),
      expiresAtMs: Unsigned().describe("Milliseconds since the epoch"),
    }),
  }),
  "server/sessions": statusMethod({
    doc: "Lists the sessions of all clients, the oldest first.",
    right: "operate",
    params: NoParams,
    result: () => ({
      sessions: z.array(
        z.object({
          label: z
            .string()
            .describe("Stands for the session here and in the server's log; its id is a secret"),
          owner: z.string().describe("Principal that it belongs to"),
          clientName: z.string().describe("As the client calls itself; anything may be in it"),
          own: z.boolean().describe("Whether it is the session of this connection"),
          connected: z.boolean().describe("False while it waits for its client to reconnect"),
          openedAtMs: Unsigned().describe("Milliseconds since the epoch"),
          runningProcesses: Unsigned().describe("Without kept processes, which belong to no session"),
        }),
      ),
    }),
  }),
  "server/limits": statusMethod({
    doc: "Lists the limits of the server that are numbers, and how much of each is used, where that is one figure for the whole server.",
    right: "operate",
    params: NoParams,
    result: () => ({
      limits: z.array(
        z.object({
          key: z.string().describe("As in the configuration file"),
          unit: z.enum(["count", "bytes", "ms"]),
          value: Unsigned(),
          used: Unsigned().optional(),
          doc: z.string().describe("What it limits, and what happens when it is reached"),
        }),
      ),
    }),
  }),
  "server/metrics": statusMethod({
    doc: "Returns how busy the server has been: values from every 15 seconds of the last hour, and those of now. Rates are averages since the value before.",
    right: "operate",
    params: NoParams,
    result: () => ({
      atMs: z
        .array(Unsigned())
        .describe(
          "Times, the oldest first, in milliseconds since the epoch. All other lists are as long; a new server has two values",
        ),
      connections: Values("Open connections"),
      sessions: Values("Including those that wait for their client to reconnect"),
      runningProcesses: Values("Processes of all clients that have not ended"),
      bufferedBytes: Values("Memory used for answers and unread output"),
      requestsPerSecond: Values("Requests that were answered"),
      errorsPerSecond: Values("Those that were answered with an error"),
      sentBytesPerSecond: Values("Bytes of messages to clients"),
      cpuPercent: Values("Of one processor, by the server's own program"),
      eventLoopPercent: Values("Share of the time in which the server was not waiting for anything"),
      memoryBytes: Values("Of the server's own program"),
    }),
  }),
  "server/audit": statusMethod({
    doc: "Returns the newest lines of the audit log that are in its current file. A server without one answers with an error.",
    right: "audit",
    params: () => ({
      maxLines: Unsigned().nullish().describe("Default: 200. At most 2000, and at most 512 KiB together"),
    }),
    result: () => ({
      file: z.string().describe("Path on the server's machine"),
      lines: z.array(z.string()).describe("The oldest first, as they are in the file"),
      written: Unsigned().describe("Number of the last line in the file"),
      head: z.string().describe("What `exec-server audit verify --head` takes"),
      lost: Unsigned().describe("Lines that had no room while the disk was slow or full"),
      failing: z.boolean().describe("Whether lines cannot be written now; the server's log says why"),
    }),
  }),
  "server/cordon": statusMethod({
    doc: "Says whether the server is to get no new work, until the next call or its end. Whoever chooses among servers goes by it; the server itself refuses nothing.",
    right: "manage",
    params: () => ({ cordoned: z.boolean() }),
    result: Empty,
  }),
};

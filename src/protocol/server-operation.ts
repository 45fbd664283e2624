import * as z from "zod";
import { method } from "./define.ts";
import { Empty, NoParams, Unsigned } from "./fields.ts";

/** What an operator asks a server. */
export const serverOperationMethods = {
  "server/sessions": method({
    doc: "Lists the sessions of all clients, the oldest first.",
    family: "environment status",
    right: "operate",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    extension: true,
    params: NoParams,
    result: () =>
      z.object({
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
  "server/limits": method({
    doc: "Lists the limits of the server that are numbers, and how much of each is used, where that is one figure for the whole server.",
    family: "environment status",
    right: "operate",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    extension: true,
    params: NoParams,
    result: () =>
      z.object({
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
  "server/audit": method({
    doc: "Returns the newest lines of the audit log that are in its current file. A server without one answers with an error.",
    family: "environment status",
    right: "audit",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    extension: true,
    params: () =>
      z.object({
        maxLines: Unsigned().nullish().describe("Default: 200. At most 2000, and at most 512 KiB together"),
      }),
    result: () =>
      z.object({
        file: z.string().describe("Path on the server's machine"),
        lines: z.array(z.string()).describe("The oldest first, as they are in the file"),
        written: Unsigned().describe("Number of the last line in the file"),
        head: z.string().describe("What `exec-server audit verify --head` takes"),
        lost: Unsigned().describe("Lines that had no room while the disk was slow or full"),
        failing: z.boolean().describe("Whether lines cannot be written now; the server's log says why"),
      }),
  }),
  "server/cordon": method({
    doc: "Says whether the server is to get no new work, until the next call or its end. Whoever chooses among servers goes by it; the server itself refuses nothing.",
    family: "environment status",
    right: "manage",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    extension: true,
    params: () => z.object({ cordoned: z.boolean() }),
    result: Empty,
  }),
};

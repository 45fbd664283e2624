import * as z from "zod";
import { method } from "./define.ts";
import { NoParams, Unsigned } from "./fields.ts";

export const serverStatusMethods = {
  "server/status": method({
    doc: "Tells which program serves, and how busy it is.",
    family: "environment status",
    right: "info",
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
      }),
  }),
};

import * as z from "zod";
import { method } from "./define.ts";
import { NoParams, Unsigned } from "./fields.ts";

export const consoleMethods = {
  "console/link": method({
    doc: "Makes a link to the web console, with the rights of this connection. It works once.",
    family: "environment status",
    right: "session",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    extension: true,
    params: NoParams,
    result: () =>
      z.object({
        token: z.string().describe("A browser opens `http://HOST:PORT/#link=TOKEN`"),
        expiresAtMs: Unsigned().describe("Milliseconds since the epoch"),
      }),
  }),
};

import * as z from "zod";
import { method, notification, schema, type Infer } from "./define.ts";
import { Base64, optional, PathUri, record } from "./fields.ts";

// The dialect `exec-server.v0`, which Codex used before `process/*`: the server assigns the ids, and nothing outlives
// the connection.

/** Names the dialect in the result of `initialize`. Clients of that dialect look for it; later ones ignore it. */
export const V0_PROTOCOL_VERSION = "exec-server.v0";

const SessionId = schema(() =>
  z.string().describe("Id of one process: `session-1`, `session-2` and so on, per connection"),
);

export const CommandExec = schema(() =>
  z.object({
    argv: z.array(z.string()).describe("Program and arguments; must not be empty"),
    cwd: PathUri(),
    env: record(z.string()).describe("The whole environment"),
    tty: z.boolean().describe("Run on a terminal of 24 rows and 80 columns instead of pipes without stdin"),
    arg0: optional(z.string()).describe("Name that the program sees as its own"),
  }),
);
export type CommandExec = Infer<typeof CommandExec>;

export const commandMethods = {
  "command/exec": method({
    doc: "Dialect v0: starts a process that ends with its connection.",
    family: "exec",
    right: "start",
    lost: "unknown",
    answers: "eventually",
    extension: true,
    ordered: "v0",
    params: CommandExec,
    result: () => z.object({ sessionId: SessionId() }),
  }),
  "command/exec/write": method({
    doc: "Dialect v0: writes to a terminal.",
    family: "exec",
    right: "start",
    lost: "unknown",
    answers: "eventually",
    extension: true,
    ordered: "v0",
    params: () => z.object({ sessionId: SessionId(), chunk: Base64() }),
    result: () => z.object({ accepted: z.literal(true) }),
  }),
  "command/exec/terminate": method({
    doc: "Dialect v0: kills the process group at once. `running` says whether the id was known, which it is until the exit is reported.",
    family: "exec",
    right: "start",
    lost: "unknown",
    answers: "eventually",
    extension: true,
    lane: "control",
    ordered: "v0",
    overtakes: "always",
    params: () => z.object({ sessionId: SessionId() }),
    result: () => z.object({ running: z.boolean() }),
  }),
};

export const commandNotifications = {
  "command/exec/outputDelta": notification({
    doc: "Dialect v0: a piece of output. It can still follow `command/exec/exited`.",
    from: "server",
    params: () =>
      z.object({
        sessionId: SessionId(),
        stream: z.enum(["stdout", "stderr"]).describe("Terminal output is `stdout`"),
        chunk: Base64(),
      }),
  }),
  "command/exec/exited": notification({
    doc: "Dialect v0: the process ended, and its id is forgotten. An exit code of 128 + n means that signal n ended it.",
    from: "server",
    params: () => z.object({ sessionId: SessionId(), exitCode: z.number().int() }),
  }),
};

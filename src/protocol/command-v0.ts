import * as z from "zod";
import { type Infer, methodsWith, notification, object, schema } from "./define.ts";
import { Base64, optional, PathUri, record } from "./fields.ts";

// The dialect `exec-server.v0`, which Codex used before `process/*`: the server assigns the ids, and nothing outlives
// the connection.

/** Names the dialect in the result of `initialize`. Clients of that dialect look for it; later ones ignore it. */
export const V0_PROTOCOL_VERSION = "exec-server.v0";

const SessionId = schema(() =>
  z.string().describe("Id of one process: `session-1`, `session-2` and so on, per connection"),
);

export const CommandExec = object(() => ({
  argv: z.array(z.string()).describe("Program and arguments; must not be empty"),
  cwd: PathUri(),
  env: record(z.string()).describe("The whole environment"),
  tty: z.boolean().describe("Run on a terminal of 24 rows and 80 columns instead of pipes without stdin"),
  arg0: optional(z.string()).describe("Name that the program sees as its own"),
}));
export type CommandExec = Infer<typeof CommandExec>;

const v0Method = methodsWith({
  family: "exec",
  right: "start",
  lost: "unknown",
  answers: "eventually",
  extension: true,
  ordered: "v0",
});

export const commandMethods = {
  "command/exec": v0Method({
    doc: "Dialect v0: starts a process that ends with its connection.",
    params: CommandExec,
    result: () => ({ sessionId: SessionId() }),
  }),
  "command/exec/write": v0Method({
    doc: "Dialect v0: writes to a terminal.",
    params: () => ({ sessionId: SessionId(), chunk: Base64() }),
    result: () => ({ accepted: z.literal(true) }),
  }),
  "command/exec/terminate": v0Method({
    doc: "Dialect v0: kills the process group at once. `running` says whether the id was known, which it is until the exit is reported.",
    lane: "control",
    overtakes: "always",
    params: () => ({ sessionId: SessionId() }),
    result: () => ({ running: z.boolean() }),
  }),
};

export const commandNotifications = {
  "command/exec/outputDelta": notification({
    doc: "Dialect v0: a piece of output. It can still follow `command/exec/exited`.",
    from: "server",
    params: () => ({
      sessionId: SessionId(),
      stream: z.enum(["stdout", "stderr"]).describe("Terminal output is `stdout`"),
      chunk: Base64(),
    }),
  }),
  "command/exec/exited": notification({
    doc: "Dialect v0: the process ended, and its id is forgotten. An exit code of 128 + n means that signal n ended it.",
    from: "server",
    params: () => ({ sessionId: SessionId(), exitCode: z.number().int() }),
  }),
};

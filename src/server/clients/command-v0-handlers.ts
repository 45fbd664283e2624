import { invalidParams } from "../wire/refusals.ts";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { RpcError } from "../../base/errors.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { CommandExec } from "../../protocol/command-v0.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { TERMINAL_COLUMNS, TERMINAL_ROWS } from "../../protocol/wire-limits.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ServerLimits } from "../settings/limits.ts";
import { EventPump } from "../sessions/event-pump.ts";
import { perClient } from "../wire/per-client.ts";
import { answerWrite } from "./process-write.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { checkSpecKind, decodeCwd, startError } from "./start-process.ts";

/** Serves the dialect `exec-server.v0` beside the current methods, on the same connection. */
export function commandHandlers(starter: ProcessStarter, limits: ServerLimits, sandboxes: Sandboxes) {
  const commandsOf = perClient<ClientConnection, Commands>(
    (client) => new Commands(client, starter),
    (commands) => commands.end(),
  );
  return {
    "command/exec": async (client, params) => {
      checkSpecKind("direct", limits);
      return { sessionId: await commandsOf(client).start(await startRequest(client, params, sandboxes)) };
    },

    "command/exec/write": (client, { sessionId, chunk }) => {
      const bytes = decodeBase64(chunk, invalidParams);
      const process = commandsOf(client).get(sessionId);
      if (process === undefined)
        throw new RpcError(RpcCode.invalidRequest, `unknown session id ${sessionId}`);
      if (process.input === undefined)
        throw new RpcError(RpcCode.invalidRequest, `stdin is closed for session ${sessionId}`);
      return answerWrite(process, bytes, limits, ACCEPTED);
    },

    "command/exec/terminate": (client, { sessionId }) => {
      const process = commandsOf(client).get(sessionId);
      process?.kill("group");
      return { running: process !== undefined };
    },
  } satisfies Handlers<ClientConnection>;
}

const ACCEPTED = { accepted: true } as const;

/** Processes of one connection. They end with it. */
class Commands {
  readonly #client: ClientConnection;
  readonly #starter: ProcessStarter;
  /** Processes by id, until their exit is reported. */
  readonly #known = new Map<string, ManagedProcess>();
  readonly #open = new Set<ManagedProcess>();
  /** The same back-pressure as for the processes of a session. */
  readonly #pump: EventPump;
  #lastId = 0;

  constructor(client: ClientConnection, starter: ProcessStarter) {
    this.#client = client;
    this.#starter = starter;
    this.#pump = new EventPump(client.peer);
    client.onDrain(() => this.#pump.drain());
  }

  /** The connection has ended. */
  end(): void {
    this.#pump.stop();
    for (const process of this.#open) process.dispose();
  }

  get(sessionId: string): ManagedProcess | undefined {
    return this.#known.get(sessionId);
  }

  /** Later requests wait for it, so that a client may use the id that it expects. */
  async start(request: StartRequest): Promise<string> {
    const slot = this.#client.session.takeSlot();
    this.#lastId += 1;
    const sessionId = `session-${this.#lastId}`;
    let process: ManagedProcess;
    try {
      process = await this.#starter.start(request);
    } catch (error) {
      slot.free();
      throw startError(error);
    }
    this.#client.observeStart(sessionId)?.(process, {
      argv: request.argv,
      isConfined: request.confinement !== undefined,
    });
    this.#open.add(process);
    this.#known.set(sessionId, process);
    process.listen((event) => {
      if (event.kind !== "closed") return;
      this.#open.delete(process);
      slot.free();
    });
    if (this.#client.signal.aborted) process.dispose();
    else this.#pump.follow(sessionId, process, { send: (event) => this.#notify(sessionId, event) });
    return sessionId;
  }

  #notify(sessionId: string, event: ProcessEvent): void {
    switch (event.kind) {
      case "output": {
        const stream = event.stream === "stderr" ? "stderr" : "stdout";
        const chunk = encodeBase64(event.bytes);
        this.#client.notify("command/exec/outputDelta", { sessionId, stream, chunk });
        break;
      }
      case "exited":
        this.#known.delete(sessionId);
        this.#client.notify("command/exec/exited", { sessionId, exitCode: event.exitCode });
        break;
      case "closed":
        break;
    }
  }
}

async function startRequest(
  client: ClientConnection,
  { argv, cwd, env, tty, arg0 }: CommandExec,
  sandboxes: Sandboxes,
): Promise<StartRequest> {
  const directory = decodeCwd(cwd);
  if (argv.length === 0) throw invalidParams("argv must not be empty");
  const policy = sandboxes.policy(client, undefined, {
    kind: "process",
    cwd: () => (typeof directory === "string" ? directory : "/"),
    temporaryDirectory: env["TMPDIR"],
  });
  return {
    argv,
    ...(typeof arg0 === "string" ? { arg0 } : {}),
    cwd: directory,
    env: new Map(Object.entries(env)),
    ...(policy === undefined ? {} : { confinement: await sandboxes.confinement(policy) }),
    stdin: tty ? { terminal: { rows: TERMINAL_ROWS, columns: TERMINAL_COLUMNS } } : "none",
  };
}

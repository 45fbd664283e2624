import { decodeBase64 } from "../../base/base64.ts";
import { TERMINATE_GRACE_MS } from "../../capabilities/process/managed-process.ts";
import type { SignalName } from "../../protocol/process.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import type { Handlers } from "../../rpc/router.ts";
import { waitForProcess } from "../sessions/wait-for-process.ts";
import { invalidParams } from "../wire/refusals.ts";
import type { ClientConnection } from "./client-connection.ts";
import { visible, whenStarted } from "./known-process.ts";
import { hasNews, readResult, readSpooled } from "./read-output.ts";
import { writeWithId, writeWithoutId } from "./process-write.ts";
import { type StartOptions, startProcess } from "./start-process.ts";

const SIGNALS: Readonly<Record<SignalName, NodeJS.Signals>> = {
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  kill: "SIGKILL",
  hangup: "SIGHUP",
  quit: "SIGQUIT",
  user1: "SIGUSR1",
  user2: "SIGUSR2",
  stop: "SIGSTOP",
  continue: "SIGCONT",
  SIGINT: "SIGINT",
  SIGTERM: "SIGTERM",
  SIGKILL: "SIGKILL",
  SIGHUP: "SIGHUP",
  SIGQUIT: "SIGQUIT",
  SIGUSR1: "SIGUSR1",
  SIGUSR2: "SIGUSR2",
  SIGSTOP: "SIGSTOP",
  SIGCONT: "SIGCONT",
};

export function processHandlers(options: StartOptions) {
  return {
    "process/start": (client, params) => startProcess(client, params, options),

    "process/read": (client, params) =>
      whenStarted(client.session, params.processId, () => {
        const { process } = visible(client, params.processId);
        const waitMs = params.waitMs ?? 0;
        const isSpooled = params.spooled === true;
        if (waitMs === 0 || hasNews(process, params))
          return isSpooled
            ? new DeferredAnswer(readSpooled(client.budget, process, params))
            : readResult(process, params);
        const news = waitForProcess(process, () => hasNews(process, params), {
          timeoutMs: waitMs,
          signal: client.signal,
        });
        if (isSpooled)
          return new DeferredAnswer(news.then(() => readSpooled(client.budget, process, params)));
        return new DeferredAnswer(news.then(() => new LazyAnswer(() => readResult(process, params))));
      }),

    "process/write": ({ session }, { processId, chunk, writeId }) => {
      const bytes = decodeBase64(chunk, invalidParams);
      if (writeId === "") throw invalidParams("writeId must not be empty");
      return whenStarted(session, processId, () => {
        const entry = session.controlled(processId);
        return writeId === undefined
          ? writeWithoutId(entry, { processId, bytes }, options.limits)
          : writeWithId(entry, { bytes, writeId }, options.limits);
      });
    },

    "process/signal": ({ session }, { processId, signal }) =>
      whenStarted(session, processId, () => {
        session.controlled(processId)?.process.signal(SIGNALS[signal]);
        return {};
      }),

    "process/terminate": ({ session }, { processId, mode, timeoutMs }) =>
      whenStarted(session, processId, () => {
        const process = session.controlled(processId)?.process;
        if (process === undefined) return { running: false };
        const running = process.state.exitCode === undefined;
        if (mode === "graceful") process.terminate(timeoutMs ?? TERMINATE_GRACE_MS, "client");
        // A Codex client, which sends no mode, relies on daemons surviving.
        else process.kill(mode === "now" ? "family" : "group");
        return { running };
      }),
  } satisfies Handlers<ClientConnection>;
}

import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { type ManagedProcess, TERMINATE_GRACE_MS } from "../../capabilities/process/managed-process.ts";
import type { ProcessRead, SignalName } from "../../protocol/process.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import { waitForProcess } from "../sessions/wait-for-process.ts";
import { invalidParams } from "../wire/refusals.ts";
import type { ClientConnection } from "./client-connection.ts";
import { visible, whenStarted } from "./known-process.ts";
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
        if (waitMs === 0 || hasNews(process, params)) return readResult(process, params);
        const news = waitForProcess(process, () => hasNews(process, params), {
          timeoutMs: waitMs,
          signal: client.signal,
        });
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

/** True if there is output after `afterSeq`, or an end that the caller has not seen. */
function hasNews(process: ManagedProcess, { afterSeq }: ProcessRead): boolean {
  const { nextSeq, exitCode, closed } = process.state;
  const after = afterSeq ?? 0;
  return (
    closed || (exitCode !== undefined && after < nextSeq - 1) || process.chunksAfter(after, 0).length > 0
  );
}

/** Assembles the JSON here: base64 needs no escaping, and stringifying megabytes of it would check every character. */
function readResult(process: ManagedProcess, { afterSeq, maxBytes }: ProcessRead): JsonText {
  const limit = maxBytes ?? Number.POSITIVE_INFINITY;
  const chunks = process.chunksAfter(afterSeq ?? 0, limit);
  const { nextSeq, exitCode, report, sandboxDenied, closed } = process.state;
  const last = chunks.at(-1);
  const next = typeof maxBytes === "number" && last !== undefined ? last.seq + 1 : nextSeq;
  const items = chunks.map(
    ({ seq, stream, bytes }) => `{"seq":${seq},"stream":"${stream}","chunk":"${encodeBase64(bytes)}"}`,
  );
  return new JsonText(
    `{"chunks":[${items.join(",")}],"nextSeq":${next},"exited":${exitCode !== undefined},"exitCode":${exitCode ?? null},` +
      `"closed":${closed},"failure":null,"sandboxDenied":${sandboxDenied}${report === undefined ? "" : `,"exit":${JSON.stringify(report)}`}}`,
  );
}

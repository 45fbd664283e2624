import { type MessagePort, Worker } from "node:worker_threads";
import { messageOf } from "../../../../base/errors.ts";
import type { SpoolEvents, SpoolThread } from "./spool.ts";
import { SpoolFiles, type SpoolLimits } from "./spool-files.ts";
import { type FromSpool, SpoolService, type ToSpool } from "./spool-service.ts";

export interface SpoolPlace {
  readonly directory: string;
  readonly limits: SpoolLimits;
}

/** Starts the program of the thread, which calls `serveSpool`. */
export function startSpoolThread(program: string, place: SpoolPlace, events: SpoolEvents): SpoolThread {
  const worker = new Worker(program, { name: "spool", workerData: place, env: {}, execArgv: [] });
  worker.on("message", (message: FromSpool) => events.message(message));
  worker.on("error", (error) => events.failed(messageOf(error)));
  worker.on("exit", () => events.failed("it has ended"));
  worker.unref();
  return {
    send: (message, moved) => worker.postMessage(message, moved),
    end: async () => void (await worker.terminate()),
  };
}

/** Runs in the thread. Throws if the directory cannot be used, which ends it. */
export function serveSpool(port: MessagePort, { directory, limits }: SpoolPlace): void {
  const service = new SpoolService(new SpoolFiles(directory, limits), (message, moved) =>
    port.postMessage(message, moved),
  );
  port.on("message", (message: ToSpool) => service.take(message));
}

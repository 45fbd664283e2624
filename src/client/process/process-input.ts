import { encodeBase64 } from "../../base/base64.ts";
import { abortable } from "../../base/deadlines.ts";
import { ExecError } from "../../base/errors.ts";
import { Interruption } from "../../base/interruption.ts";
import type { CallOptions } from "../calls/caller.ts";
import type { ClientSession } from "../session/session.ts";
import { needs } from "../calls/unsupported.ts";
import { type InputSource, openSource } from "./input-source.ts";
import type { ProcessRoute } from "../routes/process-route.ts";

/** Input is sent in pieces, each awaited, so that a process that does not read makes the writer wait. */
const MAX_WRITE_BYTES = 256 * 1024;
/**
 * After this much input, other work gets its turn: a server in this program answers without a pause, and could never
 * report that the process has ended.
 */
const TURN_BYTES = 1024 * 1024;

/** The input of a process: one write after another, and the end. */
export class ProcessInput {
  readonly #session: ClientSession;
  readonly #route: ProcessRoute;
  #nextWriteId = 1;
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(session: ClientSession, route: ProcessRoute) {
    this.#session = session;
    this.#route = route;
  }

  write(data: string | Uint8Array, { signal }: CallOptions): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const written = this.#lastWrite.then(() => this.#write(bytes, signal));
    this.#lastWrite = written.catch(() => {});
    // Also aborts while it waits for the previous write; it is then not sent.
    return abortable(written, signal);
  }

  async writeFrom(
    source: InputSource,
    { end: endsInput = true, signal }: { end?: boolean; signal?: AbortSignal },
  ): Promise<void> {
    const input = openSource(source);
    // A wait for input must end when the process has ended.
    const end = new Interruption();
    this.#route.exited.then(
      () => end.interrupt(refusedWrite(this.#route.processId, "exited")),
      (error: unknown) => end.interrupt(error),
    );
    let isDone = false;
    let written = 0;
    try {
      for (;;) {
        const chunk = await abortable(end.wait(input.next()), signal);
        if (chunk === undefined) break;
        await this.write(chunk, { signal });
        written += chunk.length;
        if (written < TURN_BYTES) continue;
        written = 0;
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      isDone = true;
    } finally {
      if (!isDone) input.cancel();
    }
    if (endsInput && this.#session.supports("process/closeStdin")) await this.close({ signal });
  }

  async close(options: CallOptions): Promise<void> {
    this.#route.needsControl();
    needs(this.#session, "process/closeStdin");
    await abortable(this.#lastWrite, options.signal);
    await this.#session.request("process/closeStdin", { processId: this.#route.processId }, options);
  }

  async #write(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    this.#route.needsControl();
    this.#check();
    for (let start = 0; start < bytes.length; start += MAX_WRITE_BYTES) {
      signal?.throwIfAborted();
      this.#check();
      const chunk = encodeBase64(bytes.subarray(start, start + MAX_WRITE_BYTES));
      const writeId = String(this.#nextWriteId);
      this.#nextWriteId += 1;
      const params = { processId: this.#route.processId, chunk, writeId };
      const { status } = await this.#session.request("process/write", params, { signal });
      if (status !== "accepted") throw refusedWrite(this.#route.processId, status);
    }
  }

  /** Before each piece, because a server may accept input that nothing will read. */
  #check(): void {
    if (this.#route.failure !== undefined) throw this.#route.failure;
    if (this.#route.exitKnown) throw refusedWrite(this.#route.processId, "exited");
  }
}

function refusedWrite(processId: string, status: string): ExecError {
  switch (status) {
    case "unknownProcess":
      return new ExecError("NOT_FOUND", `process ${processId} is no longer known to the server`);
    case "exited":
      return new ExecError("STDIN_CLOSED", `process ${processId} has exited`);
    case "stdinClosed":
      return new ExecError("STDIN_CLOSED", `process ${processId} has no open stdin`);
    default:
      return new ExecError("STDIN_CLOSED", `process ${processId} takes no input: ${status}`);
  }
}

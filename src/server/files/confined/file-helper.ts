import { once } from "node:events";
import { Socket } from "node:net";
import { settledWithin } from "../../../base/deadlines.ts";
import { createDeferred, type Deferred } from "../../../base/deferred.ts";
import { CapabilityError, messageOf } from "../../../base/errors.ts";
import { type LifeTimes, LifeWatch } from "../../../base/life-watch.ts";
import { formatDuration } from "../../../base/duration.ts";
import type { OwnProcess } from "../../../capabilities/process/process-starter.ts";
import type { ExitStatus } from "../../../native/reaper.ts";
import { checkWireError } from "../../../protocol/envelope.ts";
import { parseJson } from "../../../protocol/json-scan.ts";
import { fromWire } from "../../../rpc/error-wire.ts";
import { JsonText, JsonParts } from "../../../rpc/json-text.ts";
import type { FileClient } from "../file-client.ts";
import { type Frame, type FrameHead, readFrames, writeFrame } from "../../wire/frames.ts";
import {
  checkNotification,
  type HelperCall,
  type HelperNotification,
  type HelperReady,
  type HelperSettings,
} from "./helper-messages.ts";

/** Up to this size, an answer is passed on as text. */
const SHORT_ANSWER_BYTES = 16 * 1024;
/** Above this size, a frame waits for room in the client's budget. */
const LARGE_BYTES = 64 * 1024;
/** More than the longest notification, with the maximum number of paths. */
const MAX_NOTIFICATION_BYTES = 16 * 1024 * 1024;
const MAX_STDERR_CHARACTERS = 2_000;
/** Time to read its last words when it has ended. */
const LAST_WORDS_MS = 500;
/** Time from the start to the first sign of life. */
const START_TIMEOUT_MS = 10_000;
/** Time that an ended helper has to finish pending calls. */
const FINISH_MS = 5_000;
/** Its event loop blocks only while a file system does not respond. */
const LIFE: LifeTimes = { askMs: 1_000, silenceMs: 20_000 };

type Answer = JsonText | JsonParts;

export interface HelperOptions {
  readonly client: FileClient;
  readonly settings: HelperSettings;
  /** Life times that differ, for tests. */
  readonly life?: LifeTimes;
  /** Checks what the helper reports about itself before the first call. Rejects if it must not be used. */
  accept(ready: HelperReady): Promise<void>;
  /** Nothing more is read from the helper until the promise resolves. */
  notified(notification: HelperNotification): Promise<void> | undefined;
}

/**
 * A program that answers file calls inside a sandbox. It belongs to one connection. It is trusted no more than the
 * client, because it reads what the client chooses.
 */
export class FileHelper {
  readonly #options: HelperOptions;
  readonly #calls = new Map<number, Deferred<Answer>>();
  /** Memory that the client's budget has granted for large frames, by call; 0 is for what belongs to none. */
  readonly #granted = new Map<number, { release(): void }>();
  readonly #ready = createDeferred<void>();
  #nextId = 1;
  #pid: number | undefined;
  #input: Socket | undefined;
  #output: Socket | undefined;
  #life: LifeWatch | undefined;
  #isReady = false;
  #stderr = "";
  /** Why it is of no use any more. */
  #failure: CapabilityError | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HelperOptions) {
    this.#options = options;
    // The caller gets the error.
    this.#ready.promise.catch(() => {});
  }

  /** False if calls can only fail. */
  get isUsable(): boolean {
    return this.#failure === undefined;
  }

  /** Resolves when it takes calls. Rejects if it cannot be started, or is of no use. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Starts it. Resolves when nothing of it is left. */
  async run(start: () => Promise<OwnProcess>): Promise<void> {
    this.#timer = setTimeout(
      () => this.#fail(`it did not start within ${formatDuration(START_TIMEOUT_MS)}`),
      START_TIMEOUT_MS,
    );
    try {
      const process = await start();
      this.#pid = process.pid;
      const lastWords = this.#connect(process);
      const status = await process.exited;
      this.#pid = undefined;
      await settledWithin(lastWords, LAST_WORDS_MS);
      this.#fail(describeEnd(status, this.#stderr));
    } catch (error) {
      this.#fail(messageOf(error), error);
    } finally {
      clearTimeout(this.#timer);
      this.#input?.destroy();
      for (const id of this.#granted.keys()) this.#release(id);
    }
  }

  /** For a helper that is ready. Rejects with the call's error, or because the helper is gone. */
  async call(call: HelperCall, bytes: readonly Uint8Array[]): Promise<Answer> {
    const id = this.#nextId;
    this.#nextId = id === 0xffff_ffff ? 1 : id + 1;
    const answer = createDeferred<Answer>();
    this.#calls.set(id, answer);
    try {
      if (this.#failure !== undefined) throw this.#failure;
      writeFrame(this.#input!, "request", { id, text: JSON.stringify(call), bytes });
      return await answer.promise;
    } finally {
      this.#calls.delete(id);
      this.#release(id);
    }
  }

  /** It finishes pending calls without reporting results. */
  end(): void {
    if (this.#failure !== undefined) return;
    this.#setFailure(new CapabilityError("OS_ERROR", "the sandbox of this file call has ended"));
    this.#input?.end();
    this.#timer = setTimeout(() => this.#kill(), FINISH_MS);
    this.#timer.unref();
  }

  /** Resolves when its stderr has been read to the end. */
  #connect({ stdin, stdout, stderr }: OwnProcess): Promise<unknown> {
    const input = new Socket({ fd: stdin, readable: false, writable: true });
    const output = new Socket({ fd: stdout, readable: true, writable: false });
    const errors = new Socket({ fd: stderr, readable: true, writable: false });
    this.#input = input;
    this.#output = output;
    // Its exit follows, and that is what matters.
    for (const stream of [input, output, errors]) stream.on("error", () => {});
    errors.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARACTERS);
    });
    readFrames(output, { frame: (frame) => this.#take(frame), admit: (head) => this.#admit(head) }, (error) =>
      this.#fail(messageOf(error)),
    );
    // It may have been abandoned in the meantime.
    if (this.#failure === undefined)
      writeFrame(input, "ready", { text: JSON.stringify(this.#options.settings) });
    else this.#kill();
    return once(errors, "close");
  }

  #take({ kind, id, text, bytes }: Frame): Promise<void> | undefined {
    switch (kind) {
      case "ready":
        this.#isReady = true;
        void this.#begin(parseJson(text).value as HelperReady);
        break;
      case "result":
        this.#answered(id)?.resolve(answerOf(bytes));
        break;
      case "failure": {
        const failure = fromWire(checkWireError(parseJson(text).value));
        this.#answered(id)?.reject(failure);
        break;
      }
      case "notification": {
        const notification = checkNotification(parseJson(text).value);
        const passed = this.#failure === undefined ? this.#options.notified(notification) : undefined;
        if (passed !== undefined) return passed.finally(() => this.#release(0));
        this.#release(0);
        break;
      }
      default:
    }
    return undefined;
  }

  /** A second answer to the same call is unexpected. */
  #answered(id: number): Deferred<Answer> | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) this.#release(id);
    this.#calls.delete(id);
    return call;
  }

  #release(id: number): void {
    this.#granted.get(id)?.release();
    this.#granted.delete(id);
  }

  async #begin(ready: HelperReady): Promise<void> {
    clearTimeout(this.#timer);
    try {
      await this.#options.accept(ready);
    } catch (error) {
      this.#fail(messageOf(error), error);
      return;
    }
    if (this.#failure !== undefined) return;
    const { life = LIFE } = this.#options;
    this.#life = new LifeWatch(
      {
        signs: () => ({
          received: this.#output!.bytesRead,
          sent: this.#input!.bytesWritten - this.#input!.writableLength,
          queued: this.#input!.writableLength,
        }),
        isReading: () => this.#calls.size > 0 && !this.#output!.isPaused(),
        ask: () => writeFrame(this.#input!, "ping"),
        lost: () => this.#fail(`it has been silent for ${formatDuration(life.silenceMs)}`),
      },
      life,
    );
    this.#ready.resolve();
  }

  /** Throws for a frame that a helper has no reason to send. A large one waits for room in the client's budget. */
  #admit({ kind, id, length }: FrameHead): Promise<void> | undefined {
    if (!this.#isExpected(kind, id)) throw new Error(`it sent an unexpected ${kind}`);
    if (length <= LARGE_BYTES) return undefined;
    if (kind !== "result" && length > MAX_NOTIFICATION_BYTES)
      throw new Error(`it sent a ${kind} of ${length} bytes`);
    const held = this.#options.client.budget.open();
    this.#granted.set(id, held);
    return held.grow(length);
  }

  #isExpected(kind: Frame["kind"], id: number): boolean {
    switch (kind) {
      case "ready":
        return id === 0 && !this.#isReady;
      case "result":
      case "failure":
        // Calls from before the end are still carried out, but their answers are dropped.
        return this.#calls.has(id) || this.#failure !== undefined;
      case "notification":
      case "pong":
        return id === 0;
      default:
        return false;
    }
  }

  /** Every call fails, now and later. */
  #fail(reason: string, cause?: unknown): void {
    if (this.#failure !== undefined) return;
    this.#setFailure(
      cause instanceof CapabilityError && cause.errno === undefined
        ? cause
        : new CapabilityError("OS_ERROR", `fs sandbox helper failed: ${reason}`, { cause }),
    );
    this.#kill();
  }

  #setFailure(failure: CapabilityError): void {
    this.#failure = failure;
    clearTimeout(this.#timer);
    this.#life?.stop();
    this.#ready.reject(failure);
    for (const call of this.#calls.values()) call.reject(failure);
  }

  /** Its sandbox ends with it, with everything inside. */
  #kill(): void {
    if (this.#pid !== undefined) process.kill(this.#pid, "SIGKILL");
  }
}

function answerOf(bytes: readonly Buffer[]): Answer {
  const length = bytes.reduce((sum, part) => sum + part.length, 0);
  return length <= SHORT_ANSWER_BYTES ? new JsonText(Buffer.concat(bytes).toString()) : new JsonParts(bytes);
}

function describeEnd({ exitCode, signal }: ExitStatus, stderr: string): string {
  const how = signal === undefined ? `exit status: ${exitCode}` : `signal: ${signal}`;
  const said = stderr.trim();
  return `status ${how}${said === "" ? "" : `: ${said}`}`;
}

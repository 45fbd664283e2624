import { formatSize } from "../../base/amounts.ts";
import { signal } from "@preact/signals";
import { ExecError, type ExitReport, type Host, type RemoteProcess } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import type { ProcessAddress } from "../processes/process-address.ts";
import { LineStore } from "./line-store.ts";
import { RawOutput } from "./raw-output.ts";

/** Maximum time to process output without a break, so that the page stays responsive. */
const SLICE_MS = 8;

/** What is read at once of what the server has on disk: half of what a page keeps. */
const PART_BYTES = 16 * 1024 * 1024;
const PART_LINES = 100_000;

export interface FeedOptions {
  /** Begins with the oldest output that the server has on disk, and stops after each part. Default: what memory has. */
  readonly fromStart?: boolean;
}

/** Follows the output of a kept process from the oldest that the server has in memory. */
export class OutputFeed {
  readonly store = new LineStore();
  readonly raw = new RawOutput();
  /** Changes when there is something new to show. */
  readonly news = signal(0);
  readonly exit = signal<ExitReport | undefined>(undefined);
  readonly isClosed = signal(false);
  readonly failure = signal<unknown>(undefined);
  readonly process = signal<RemoteProcess | undefined>(undefined);
  /** Output that the server no longer had; known after the end. */
  readonly evictedBytes = signal(0);
  /** The server may have earlier output on disk. */
  readonly hasEarlier = signal(false);
  /** There is more output, which is read when `readOn` is called. */
  readonly isHeld = signal(false);
  /** Whether it accepts input and signals. */
  readonly hasControl = signal(false);
  readonly #host: Host;
  readonly #address: ProcessAddress;
  readonly #abort = new AbortController();
  /** Places of gaps, as far as it matters whether there is only one. */
  readonly #gaps: number[] = [];
  #isNewsDue = false;
  readonly #fromStart: boolean;
  #readOn: (() => void) | undefined;
  /** Where it stops next. */
  #partEnd = { bytes: PART_BYTES, line: PART_LINES };

  constructor(host: Host, address: ProcessAddress, { fromStart = false }: FeedOptions = {}) {
    this.#host = host;
    this.#address = address;
    this.#fromStart = fromStart;
  }

  async run(): Promise<void> {
    try {
      const process = await this.#attach();
      if (this.#abort.signal.aborted) return await process.detach();
      this.process.value = process;
      await this.#read(process);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.failure.value = error;
    }
  }

  /** Reads the next part. */
  readOn(): void {
    this.#readOn?.();
  }

  /** Ends the attachment; the process keeps running. */
  stop(): void {
    this.#abort.abort();
    this.readOn();
    this.process.value?.detach().catch(() => {
      // It ended with the connection.
    });
  }

  /** All output that was ever written is known once the process is over: what has not arrived was in the gaps. */
  setTotal(outputBytes: number): void {
    const missing = outputBytes - this.raw.received;
    if (missing <= 0 || this.#gaps.length === 0) return;
    const [only, another] = this.#gaps;
    if (only !== undefined && another === undefined)
      this.store.updateGap(only, `${formatSize(missing)} of output ${EVICTED}`);
    this.evictedBytes.value = missing;
    this.#notify();
  }

  /** Control if that is allowed, otherwise follow. */
  async #attach(): Promise<RemoteProcess> {
    const { name, owner } = this.#address;
    const options = {
      ...(owner === undefined ? {} : { owner }),
      ...(this.#fromStart ? { fromSeq: 1 } : {}),
    };
    if (isAllowed("control"))
      try {
        const process = await this.#host.attachKept(name, { ...options, mode: "control" });
        this.hasControl.value = true;
        return process;
      } catch (error) {
        if (!(error instanceof ExecError && error.code === "PERMISSION_DENIED")) throw error;
      }
    return this.#host.attachKept(name, options);
  }

  async #read(process: RemoteProcess): Promise<void> {
    let sliceEnd = performance.now() + SLICE_MS;
    const { signal } = this.#abort;
    let isFirst = true;
    for await (const event of process.events({ signal, skipMissed: !this.#fromStart })) {
      if (isFirst && event.kind === "output" && event.seq > 1 && !this.#fromStart)
        this.hasEarlier.value = this.#host.supports("process/read.spooled");
      isFirst = false;
      switch (event.kind) {
        case "output":
          this.store.append(event.stream, event.bytes, event.seq);
          this.raw.append(event.stream, event.bytes);
          break;
        case "gap":
          if (this.#gaps.length < 2) this.#gaps.push(this.store.end);
          this.store.appendGap(`Output ${EVICTED}`, event.toSeq);
          break;
        case "exited":
          this.exit.value = event;
          break;
        case "closed":
          this.isClosed.value = true;
          break;
        case "failed":
          throw new ExecError(event.code, event.message);
      }
      this.#notify();
      if (this.#fromStart && this.#isPartOver) await this.#holdPart();
      if (performance.now() < sliceEnd) continue;
      await nextTask();
      sliceEnd = performance.now() + SLICE_MS;
    }
  }

  get #isPartOver(): boolean {
    return this.raw.received >= this.#partEnd.bytes || this.store.end >= this.#partEnd.line;
  }

  async #holdPart(): Promise<void> {
    this.isHeld.value = true;
    await new Promise<void>((resolve) => (this.#readOn = resolve));
    this.isHeld.value = false;
    this.#partEnd = { bytes: this.raw.received + PART_BYTES, line: this.store.end + PART_LINES };
  }

  /** Once per frame. */
  #notify(): void {
    if (this.#isNewsDue) return;
    this.#isNewsDue = true;
    requestAnimationFrame(() => {
      this.#isNewsDue = false;
      this.news.value++;
    });
  }
}

const EVICTED = "was evicted by the server before this page could read it";

/** Lets the browser draw and take input. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener("message", () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}

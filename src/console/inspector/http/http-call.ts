import { signal } from "@preact/signals";
import type { Host } from "../../../client/browser.ts";
import type { CopiedHttpRequest } from "../copy-code.ts";

/** What came of an HTTP request so far. */
export interface HttpState {
  readonly kind: "idle" | "running" | "answered" | "failed" | "stopped";
  readonly startedMs: number;
  readonly tookMs: number;
  readonly response?: HttpResponse;
  readonly error?: unknown;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Until the head was there. */
  readonly headMs: number;
  readonly bytes: number;
  /** The beginning of the body; undefined if it is not text. */
  readonly text: string | undefined;
}

/** So much of a body is kept for the download. */
const KEPT_BYTES = 32 * 1024 * 1024;
const SHOWN_BYTES = 64 * 1024;
/** A body that streams is shown so often. */
const SHOWN_MS = 100;

/** The latest HTTP request of the form. */
export class HttpCall {
  readonly state = signal<HttpState>({ kind: "idle", startedMs: 0, tookMs: 0 });
  #stop: AbortController | undefined;
  #body = new KeptBody();

  /** The body as it came, or its first 32 MiB. */
  get body(): Blob {
    return this.#body.blob;
  }

  async send(host: Host, request: CopiedHttpRequest): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    const body = new KeptBody();
    this.#body = body;
    const startedMs = performance.now();
    const update = (state: Pick<HttpState, "kind"> & Partial<HttpState>): void => {
      if (this.#stop === stop)
        this.state.value = { startedMs, tookMs: performance.now() - startedMs, ...state };
    };
    update({ kind: "running" });
    let response: HttpResponse | undefined;
    const latest = (): Partial<HttpState> =>
      response === undefined ? {} : { response: { ...response, bytes: body.bytes, text: body.text } };
    try {
      const { method, url, headers, redirect, timeoutMs } = request;
      const limit = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
      const answer = await host.fetch(url, {
        method,
        headers: headers.map(([name, value]): [string, string] => [name, value]),
        redirect,
        signal: AbortSignal.any([stop.signal, ...limit]),
        ...(request.body === undefined ? {} : { body: request.body }),
      });
      response = {
        status: answer.status,
        headers: [...answer.headers],
        headMs: performance.now() - startedMs,
        bytes: 0,
        text: "",
      };
      let toldMs = 0;
      for await (const piece of answer.body ?? []) {
        body.add(piece);
        if (performance.now() - toldMs < SHOWN_MS) continue;
        toldMs = performance.now();
        update({ kind: "running", ...latest() });
      }
      update({ kind: "answered", ...latest() });
    } catch (error) {
      update({ kind: stop.signal.aborted ? "stopped" : "failed", error, ...latest() });
    }
  }

  stop(): void {
    this.#stop?.abort();
  }
}

/** The beginning of a body, and how long all of it is. */
class KeptBody {
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  #beginning = new Uint8Array();
  bytes = 0;

  get blob(): Blob {
    return new Blob(this.#pieces);
  }

  /** Undefined if the bytes are not text. */
  get text(): string | undefined {
    if (this.#beginning.includes(0)) return undefined;
    try {
      // The last character may not be there yet.
      return new TextDecoder("utf-8", { fatal: true }).decode(this.#beginning, { stream: true });
    } catch {
      return undefined;
    }
  }

  add(piece: Uint8Array): void {
    if (this.bytes < KEPT_BYTES) this.#pieces.push(piece.slice());
    const room = SHOWN_BYTES - this.#beginning.length;
    if (room > 0) {
      const longer = new Uint8Array(this.#beginning.length + Math.min(room, piece.length));
      longer.set(this.#beginning);
      longer.set(piece.subarray(0, room), this.#beginning.length);
      this.#beginning = longer;
    }
    this.bytes += piece.length;
  }
}

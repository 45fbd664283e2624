import { anySignal } from "../../../base/deadlines.ts";
import type { Host } from "../../../client/browser.ts";
import type { CopiedHttpRequest } from "../copy-code.ts";
import { LatestRequest } from "../latest-request.ts";

export interface HttpResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Time until the head arrived. */
  readonly headMs: number;
  readonly bytes: number;
  /** The beginning of the body; undefined if it is not text. */
  readonly text: string | undefined;
}

/** Bytes of a body kept for the download. */
const KEPT_BYTES = 32 * 1024 * 1024;
const SHOWN_BYTES = 64 * 1024;
/** Interval for showing a streaming body. */
const SHOWN_MS = 100;

/** The latest HTTP request of the form. */
export class HttpCall extends LatestRequest<HttpResponse> {
  #body = new KeptBody();

  /** The body as it came, or its first 32 MiB. */
  get body(): Blob {
    return this.#body.blob;
  }

  send(host: Host, { headers, timeoutMs, body, ...request }: CopiedHttpRequest): Promise<void> {
    const kept = new KeptBody();
    this.#body = kept;
    return this.run(async (signal, report) => {
      const startedMs = performance.now();
      const limit = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
      const response = await host.fetch(request.url, {
        method: request.method,
        headers: headers.map(([name, value]): [string, string] => [name, value]),
        redirect: request.redirect,
        signal: anySignal([signal, ...limit]),
        ...(body === undefined ? {} : { body }),
      });
      const head = {
        status: response.status,
        headers: [...response.headers],
        headMs: performance.now() - startedMs,
      };
      const latest = (): HttpResponse => ({ ...head, bytes: kept.bytes, text: kept.text });
      let shownMs = 0;
      try {
        for await (const piece of response.body ?? []) {
          kept.add(piece);
          if (performance.now() - shownMs < SHOWN_MS) continue;
          shownMs = performance.now();
          report(latest());
        }
      } finally {
        report(latest());
      }
      return latest();
    });
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
      // The last character may be incomplete.
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

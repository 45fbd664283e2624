import { signal } from "@preact/signals";
import type { Host, MethodName, Params } from "../../client/browser.ts";
import type { Json } from "./json-path.ts";
import { type JsonPreview, previewJson } from "./json-preview.ts";

/** What became of a request. */
export type CallState =
  | { readonly kind: "idle" }
  | { readonly kind: "running"; readonly startedMs: number }
  | {
      readonly kind: "answered";
      readonly tookMs: number;
      readonly result: Json;
      readonly preview: JsonPreview;
    }
  | { readonly kind: "failed"; readonly tookMs: number; readonly error: unknown }
  | { readonly kind: "stopped"; readonly tookMs: number };

/** The latest request of a form. */
export class Call {
  readonly state = signal<CallState>({ kind: "idle" });
  #stop: AbortController | undefined;

  async send(host: Host, method: string, params: Json): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    const startedMs = performance.now();
    this.state.value = { kind: "running", startedMs };
    const end = (ended: (tookMs: number) => CallState): void => {
      if (this.#stop === stop) this.state.value = ended(performance.now() - startedMs);
    };
    try {
      // Names and values are what the person wants to send; the server decides whether they fit.
      const result: Json = await host.request(method as MethodName, params as Params<MethodName>, {
        signal: stop.signal,
      });
      end((tookMs) => ({ kind: "answered", tookMs, result, preview: previewJson(result) }));
    } catch (error) {
      end((tookMs) =>
        stop.signal.aborted ? { kind: "stopped", tookMs } : { kind: "failed", tookMs, error },
      );
    }
  }

  /** Stops waiting. The server may still do it. */
  stop(): void {
    this.#stop?.abort();
  }

  /** Forgets an answer that takes much memory. */
  forgetLarge(): void {
    const { value } = this.state;
    if (value.kind === "answered" && value.preview.isCut) this.state.value = { kind: "idle" };
  }
}

import type { BodySink } from "./exchange.ts";
import type { Header } from "./header.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In sending order; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** In the order received, names in lower case; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  /** Hands over the body as received, without decompression. Call it once. */
  readBody(sink: BodySink): void;
  /** Pauses and resumes the upstream server. */
  pause(): void;
  resume(): void;
}

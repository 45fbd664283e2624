import type { BodySink } from "./exchange.ts";
import type { Header } from "./header.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In the order they are sent; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** In the order they came, names in lower case; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  /** Hands over the body as it came: nothing is decompressed. To be called once. */
  readBody(sink: BodySink): void;
  /** Makes the upstream server wait, and go on. */
  pause(): void;
  resume(): void;
}

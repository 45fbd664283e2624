import type { Host, MethodName, Params } from "../../client/browser.ts";
import type { Json } from "./json-path.ts";
import { type JsonPreview, previewJson } from "./json-preview.ts";
import { IDLE, LatestRequest } from "./latest-request.ts";

export interface CallAnswer {
  readonly result: Json;
  readonly preview: JsonPreview;
}

/** The latest request of a method's form. */
export class Call extends LatestRequest<CallAnswer> {
  send(host: Host, method: string, params: Json): Promise<void> {
    return this.run(async (signal) => {
      // Names and values are what the person wants to send; the server decides whether they fit.
      const result: Json = await host.request(method as MethodName, params as Params<MethodName>, { signal });
      return { result, preview: previewJson(result) };
    });
  }

  /** Forgets an answer that takes much memory. */
  forgetLarge(): void {
    if (this.state.value.answer?.preview.isCut) this.state.value = IDLE;
  }
}

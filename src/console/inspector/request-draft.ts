import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { Json } from "./json-path.ts";

/** The parameters of a request, as a value for the form and as text, which always say the same. */
export class RequestDraft {
  readonly #value = signal<Json>(null);
  readonly #text = signal("null");
  readonly #fault = signal<string | undefined>(undefined);
  /** The latest text that was JSON. */
  readonly value: ReadonlySignal<Json> = this.#value;
  readonly text: ReadonlySignal<string> = this.#text;
  /** Why the text is not JSON. */
  readonly fault: ReadonlySignal<string | undefined> = this.#fault;

  constructor(value: Json) {
    this.setValue(value);
  }

  setValue(value: Json): void {
    batch(() => {
      this.#value.value = value;
      this.#text.value = JSON.stringify(value, null, 2);
      this.#fault.value = undefined;
    });
  }

  setText(text: string): void {
    batch(() => {
      this.#text.value = text;
      try {
        this.#value.value = JSON.parse(text) as Json;
        this.#fault.value = undefined;
      } catch (error) {
        this.#fault.value = error instanceof Error ? error.message : String(error);
      }
    });
  }
}

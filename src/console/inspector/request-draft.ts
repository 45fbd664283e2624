import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { Json } from "./json-path.ts";

/** The parameters of a request, as a value for the form and as text, which always say the same. */
export class RequestDraft {
  readonly #value = signal<Json>(null);
  readonly #text = signal("null");
  readonly #fault = signal<string | undefined>(undefined);

  constructor(value: Json) {
    this.setValue(value);
  }

  /** The latest text that was JSON. */
  get value(): ReadonlySignal<Json> {
    return this.#value;
  }

  get text(): ReadonlySignal<string> {
    return this.#text;
  }

  /** Why the text is not JSON. */
  get fault(): ReadonlySignal<string | undefined> {
    return this.#fault;
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

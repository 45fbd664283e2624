/** Shorter ones stand in for a key at an endpoint that needs none, and may be part of any text. */
const MIN_CHARACTERS = 8;
/** Stands for the key wherever an endpoint repeats it. */
const REDACTED = "[key]";

/** Whether a key must be hidden. */
export function isSecret(key: string): boolean {
  return key.length >= MIN_CHARACTERS;
}

/** Removes a key from an endpoint's text. */
export class HiddenKey {
  /** The key as it is, in JSON, and in JSON that is text in JSON: the longest first. */
  readonly #forms: readonly string[];

  constructor(key: string | undefined) {
    if (key === undefined || !isSecret(key)) this.#forms = [];
    else {
      const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
      this.#forms = [escaped(escaped(key)), escaped(key), key];
    }
  }

  inText(said: string): string {
    return this.#forms.reduce((text, form) => text.replaceAll(form, REDACTED), said);
  }

  inValue(value: unknown): unknown {
    if (this.#forms.length === 0) return value;
    const said = JSON.stringify(value);
    return this.#forms.some((form) => said.includes(form)) ? JSON.parse(this.inText(said)) : value;
  }
}

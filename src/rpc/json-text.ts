/** A result that its handler has already serialized, because it knows a cheaper way than `JSON.stringify`. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

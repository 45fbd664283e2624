/** A result that its handler has already turned into JSON, because it knows a cheaper way than `JSON.stringify`. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

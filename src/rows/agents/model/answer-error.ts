/** An answer of the endpoint that cannot be used, although the next one may be. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

import {
  addTokens,
  type Model,
  type ModelRequest,
  type ModelTurn,
  NO_TOKENS,
  type Tokens,
} from "./model/model.ts";

/** Counts what all turns of a model cost, and gives no more of them once that is too much. */
export class CountedModel implements Model {
  readonly #model: Model;
  readonly #max: number;
  #tokens: Tokens = NO_TOKENS;

  constructor(model: Model, maxTokens = Number.POSITIVE_INFINITY) {
    this.#model = model;
    this.#max = maxTokens;
  }

  get tokens(): Tokens {
    return this.#tokens;
  }

  async respond(request: ModelRequest): Promise<ModelTurn> {
    const { total } = this.#tokens;
    if (total >= this.#max) {
      const error = `${total} tokens have been used, and the limit is ${this.#max}`;
      const end = { status: "failed", error, retry: false, isForAll: true } as const;
      return { end, items: [], calls: [], text: "", tokens: NO_TOKENS };
    }
    const turn = await this.#model.respond(request);
    this.#tokens = addTokens(this.#tokens, turn.tokens);
    return turn;
  }
}

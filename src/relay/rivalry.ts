/** The reason for which a relay of this project closes the socket of an executor that has connected again. */
export const REPLACED = "another connection of this executor has replaced it";

/** A new server may start before the old one ends: only more than that is a sign of two that stay. */
const LASTING_TIMES = 3;
/** An executor that was connected for so long has no rival. */
const CALM_MS = 5 * 60_000;

/** Two executors with the same key, which replace each other as often as they connect. */
export class Rivalry {
  #times = 0;

  get isOn(): boolean {
    return this.#times > 0;
  }

  /** Notes the end of a connection. True if the executor has been replaced so often that it should be logged, once. */
  note(isReplaced: boolean, connectedMs: number): boolean {
    if (!isReplaced || connectedMs > CALM_MS) this.#times = 0;
    if (isReplaced) this.#times += 1;
    return isReplaced && this.#times === LASTING_TIMES;
  }
}

import { Fifo } from "../base/fifo.ts";

/** Maximum time for which all long work together may block everything else. */
const TURN_MS = 8;

/**
 * Start of the current turn; undefined if none has begun. All work shares it, so that many tasks do not take a turn
 * each.
 */
let began: number | undefined;
const waiting = new Fifo<() => void>();

/** Splits long work into turns: a loop whose length a peer decides checks after each step whether its turn is over. */
export class Turns {
  get over(): boolean {
    if (began === undefined) {
      began = performance.now();
      if (waiting.size === 0) setImmediate(pass);
    }
    return performance.now() - began >= TURN_MS;
  }

  /** Resolves when everything else that was waiting has had its turn. */
  next(): Promise<void> {
    if (began === undefined && waiting.size === 0) setImmediate(pass);
    return new Promise((resolve) => waiting.push(resolve));
  }
}

/** A new iteration of the event loop: the longest waiting task continues. */
function pass(): void {
  began = undefined;
  const resume = waiting.shift();
  if (resume === undefined) return;
  began = performance.now();
  setImmediate(pass);
  resume();
}

import { Fifo } from "../base/fifo.ts";

/** This long all long work together may keep everybody else waiting. */
const TURN_MS = 8;

/** When the turn began that is on now; undefined before anyone has asked. All work shares it: many at once would otherwise take a turn each. */
let began: number | undefined;
const waiting = new Fifo<() => void>();

/** Divides long work into turns: whoever loops over what a peer decides asks after each step whether it is somebody else's turn. */
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

/** A new round of the event loop: the one that has waited longest goes on. */
function pass(): void {
  began = undefined;
  const resume = waiting.shift();
  if (resume === undefined) return;
  began = performance.now();
  setImmediate(pass);
  resume();
}

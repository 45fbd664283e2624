import { Fifo } from "../../../../base/fifo.ts";

/** How long all emulators together may block the server before others get a turn. */
const TURN_MS = 2;
/** The shortest delay of a timer. */
const REST_MS = 1;

type Turn = (isOver: () => boolean) => void;

const waiting = new Fifo<Turn>();
let isScheduled = false;

/** Calls `turn` once all earlier waiters have had theirs. However many emulators are busy, they share one turn. */
export function awaitTurn(turn: Turn): void {
  waiting.push(turn);
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(pass);
}

function pass(): void {
  const end = performance.now() + TURN_MS;
  const isOver = (): boolean => performance.now() >= end;
  do waiting.shift()?.(isOver);
  while (waiting.size > 0 && !isOver());
  isScheduled = waiting.size > 0;
  // A flood leaves time for everything else.
  if (isScheduled) setTimeout(pass, REST_MS);
}

import { inLanes, withDeadline } from "./waiting.mjs";

const AT_A_TIME = 16;
/** Servers live long; a start of one that is still being compiled says nothing about the others. */
const WARM_UP = 4000;
/** The peer takes 15 ms for each. */
const WARM_UP_PTY = 1500;
const STARTS = 1500;
const QUICK_STARTS = 96;

const HELD_PROCESSES = 500;
/** What both servers keep of a process's output, at most, until 30 s after its end. */
const RETAINED_BYTES = 1024 * 1024;
const HELD_FOR_MS = 30_000;
/** So that the last processes have time to end while all is held. */
const HELD_MARGIN_MS = 5_000;

/** Starts `true` that many times and waits for each until it is closed; resolves with the seconds. */
export const spawnMany = (session, count, { tty = false, atATime = AT_A_TIME } = {}) =>
  inLanes(count, atATime, () => session.run(["true"], { tty }));

export const warmUpSpawning = (session, { tty }) => spawnMany(session, tty ? WARM_UP_PTY : WARM_UP, { tty });

/** Processes per second, over a round of starts or until `untilMs` on the clock, if that is earlier. */
export async function spawnRate(session, { tty, quick, untilMs = Infinity }) {
  let done = 0;
  const seconds = await inLanes(quick ? QUICK_STARTS : STARTS, AT_A_TIME, async () => {
    if (performance.now() > untilMs) return;
    await session.run(["true"], { tty });
    done++;
  });
  if (done === 0) throw new Error("no process could be started in time");
  return done / seconds;
}

/**
 * Makes a server hold 500 MB in a way that every server of this protocol must: by processes that have ended, each with as much output
 * as is retained. It holds all of it until `untilMs` on the clock; `check` throws if it does not.
 */
export async function holdOutput(session) {
  const untilMs = performance.now() + HELD_FOR_MS - HELD_MARGIN_MS;
  let first;
  await inLanes(HELD_PROCESSES, AT_A_TIME, async (i) => {
    const { processId, started, over } = session.start(["head", "-c", String(RETAINED_BYTES), "/dev/zero"]);
    if (i === 0) first = processId;
    await withDeadline(started, "start of head");
    await withDeadline(over, "end of head");
  });
  return {
    untilMs,
    check: async () => {
      const held = await session.wire.request("process/read", { processId: first, maxBytes: 1 }).then(
        ({ chunks }) => chunks.length > 0,
        () => false,
      );
      if (!held) throw new Error("the output was not held until the end of the measurement");
    },
  };
}

import { inLanes, withDeadline } from "./waiting.mjs";

const AT_A_TIME = 16;
/** Servers run for long; a start whose code is still being compiled is not representative. */
const WARM_UP = 4000;
/** The peer takes 15 ms for each. */
const WARM_UP_PTY = 1500;
const STARTS = 1500;
const QUICK_STARTS = 96;

const HELD_PROCESSES = 500;
/** Maximum output that both servers keep per process until 80 s after its end. */
const RETAINED_BYTES = 1024 * 1024;
const HELD_FOR_MS = 30_000;
/** Gives the last processes time to end while everything is held. */
const HELD_MARGIN_MS = 5_000;

/** Starts `true` `count` times and waits until each is closed; resolves with the seconds. */
export const spawnMany = (session, count, { tty = false, atATime = AT_A_TIME } = {}) =>
  inLanes(count, atATime, () => session.run(["true"], { tty }));

export const warmUpSpawning = (session, { tty }) => spawnMany(session, tty ? WARM_UP_PTY : WARM_UP, { tty });

export const startsOf = (quick) => (quick ? QUICK_STARTS : STARTS);

/** Processes per second, over some starts or until `untilMs`, whichever is earlier. */
export async function spawnRate(session, { tty, starts, untilMs = Infinity }) {
  let done = 0;
  const seconds = await inLanes(starts, AT_A_TIME, async () => {
    if (performance.now() > untilMs) return;
    await session.run(["true"], { tty });
    done++;
  });
  if (done === 0) throw new Error("no process could be started in time");
  return done / seconds;
}

/**
 * Makes a server hold 500 MB in a way that every server of this protocol must: with ended processes, each with the
 * maximum retained output. It holds all of it until `untilMs`; `check` throws if it does not.
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

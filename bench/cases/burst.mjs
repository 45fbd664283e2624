import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { withDeadline } from "../waiting.mjs";

const SMALL = 2_000;
const SMALL_MS = `${SMALL} answered ms`;
const STALLED_AFTER_MS = 5_000;

/** Sends everything at once and counts answers until all have arrived, or none has for a while. */
function sendBurst(session, count) {
  return new Promise((resolve) => {
    const begun = performance.now();
    let answered = 0;
    let ended = 0;
    const done = () => {
      clearTimeout(timer);
      resolve({ answered, ms: performance.now() - begun });
    };
    const timer = setTimeout(done, STALLED_AFTER_MS);
    const settle = (by) => {
      answered += by;
      ended++;
      timer.refresh();
      if (ended === count) done();
    };
    const requests = Array.from({ length: count }, () => session.wire.prepare("environment/status"));
    for (const answer of session.wire.sendAll(requests)) {
      answer.then(
        () => settle(1),
        () => settle(0),
      );
    }
  });
}

const wedged = (answered, count) => ({
  "answered %": (answered / count) * 100,
  "all answered ms": null,
  note: `wedged after ${answered} of ${count} answers`,
});

export default {
  name: "burst",
  about:
    "2 000 requests written at once, then 10 000; an answer may take 5 s, then the connection counts as wedged",
  transports: ["ws", "stdio"],
  ownServers: true,
  metrics: [
    { name: "answered %", better: "higher", context: true },
    { name: "all answered ms", better: "lower" },
    { name: SMALL_MS, better: "lower" },
  ],
  run: ({ open, quick }) =>
    onFreshServer(open, (server) =>
      inSession(server, async (session) => {
        const count = quick ? 4_000 : 10_000;
        await withDeadline(session.wire.request("environment/status"), "the first request");
        const small = await sendBurst(session, SMALL);
        if (small.answered < SMALL) return wedged(small.answered, SMALL);
        const { answered, ms } = await sendBurst(session, count);
        const values = { [SMALL_MS]: small.ms };
        if (answered === count) return { ...values, "answered %": 100, "all answered ms": ms };
        return { ...values, ...wedged(answered, count) };
      }),
    ),
};

import { inSession } from "../session.mjs";

const AT_A_TIME = 16;
/** Servers live long; a start of one that is still being compiled says nothing about the others. */
const WARM_UP = 1500;

async function spawnAll(url, count) {
  return inSession(url, async (session) => {
    let left = count;
    const lane = async () => {
      while (left-- > 0) await session.run(["true"]);
    };
    const begun = performance.now();
    await Promise.all(Array.from({ length: AT_A_TIME }, lane));
    return { "processes/s": (count / (performance.now() - begun)) * 1000 };
  });
}

export default {
  name: "spawn-rate",
  about: `\`true\` started and waited for until closed, ${AT_A_TIME} at a time`,
  metrics: [{ name: "processes/s", better: "higher" }],
  warmUp: (url) => spawnAll(url, WARM_UP),
  run: (url, { quick }) => spawnAll(url, quick ? 48 : 1500),
};

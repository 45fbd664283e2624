import { Session } from "./session.mjs";
import { inLanes, withDeadline } from "./waiting.mjs";
import { Wire } from "./wire.mjs";

const AT_A_TIME = 32;

/** Opens `count` connections, each with a session; they stay open until `close`. */
export async function openConnections({ url }, count) {
  const sessions = [];
  const close = () => {
    for (const session of sessions) session.close();
  };
  try {
    const seconds = await inLanes(count, AT_A_TIME, async () => {
      const wire = await withDeadline(Wire.connect(url, { small: true }), "connect");
      sessions.push(await Session.open(wire));
    });
    return { seconds, close };
  } catch (error) {
    close();
    throw error;
  }
}

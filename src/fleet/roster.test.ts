import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { spin } from "../../test/fault/deadline.ts";
import { encodeBeat } from "./beat-message.ts";
import type { Bus, BusMessage } from "./bus.ts";
import { Mailboxes } from "./mailboxes.ts";
import { Roster } from "./roster.ts";
import { beatSubject } from "./subjects.ts";

/** Longer than any time that a call waits for an answer. */
const STOPPED_MS = 1_200;

/** A bus to which executors answer when a byte arrives at this program. */
function answeredBy(line: Socket): Bus {
  const receivers = new Map<string, (message: BusMessage) => void>();
  let inbox = "";
  line.on("data", (bytes: Buffer) => {
    for (const id of bytes.toString()) {
      const beat = {
        id,
        run: "r",
        since: 1,
        labels: {},
        running: 0,
        free: 1,
        load: 0,
        state: "ready",
      } as const;
      const message = { reply: undefined, isUndeliverable: false };
      const subject = beatSubject(id);
      receivers.get("exec.*.beat")!({ ...message, subject, data: Buffer.from(encodeBeat(beat)) });
      receivers.get("_INBOX.x.*")!({ ...message, subject: inbox, data: Buffer.alloc(0) });
    }
  });
  return {
    isConnected: true,
    publish: (_subject, _data, reply = "") => {
      inbox = reply;
    },
    subscribe: (subject, receive) => {
      receivers.set(subject, receive);
      return () => {};
    },
    watch: () => () => {},
  };
}

test.each([
  ["before the first", ""],
  ["after the first", "a"],
])("answers that come while this program is stopped, %s, are all in the list", async (_, earlier) => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const far = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  const [line] = (await once(listener, "connection")) as [Socket];
  const bus = answeredBy(line);
  const roster = new Roster(bus, new Mailboxes(bus, "_INBOX.x", () => false));
  try {
    if (earlier !== "") {
      const heard = once(line, "data");
      far.write(earlier);
      await heard;
    }
    far.write("bc");
    spin(STOPPED_MS);
    await roster.ready;
    expect(
      roster
        .list()
        .map(({ id }) => id)
        .join(""),
    ).toBe(`${earlier}bc`);
  } finally {
    roster.close();
    far.destroy();
    listener.close();
  }
});

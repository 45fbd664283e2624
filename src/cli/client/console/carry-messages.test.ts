import { expect, test } from "vitest";
import { createDeferred } from "../../../base/deferred.ts";
import { SESSION_OVER_CLOSE_CODE } from "../../../protocol/wire-limits.ts";
import { createMemoryPair } from "../../../transport/memory.ts";
import type { Transport, TransportEvents } from "../../../transport/transport.ts";
import { carryMessages } from "./carry-messages.ts";

/** Opens an end, and collects what it gets. */
function listen(transport: Transport): { readonly heard: string[]; readonly closed: Promise<void> } {
  const heard: string[] = [];
  const closed = createDeferred<void>();
  transport.open({
    message: (text) => heard.push(text),
    drain: () => {},
    close: () => closed.resolve(),
  });
  return { heard, closed: closed.promise };
}

test("what the page says before there is a server arrives first, and the end of one is the end of the other", async () => {
  const [page, browser] = createMemoryPair();
  const [front, back] = createMemoryPair();
  const asked = createDeferred<Transport>();
  const carried = carryMessages(page, () => asked.promise);
  const { heard: shown, closed } = listen(browser);
  browser.send("early");
  const server = listen(back);
  asked.resolve(front);
  await carried;
  browser.send("late");
  back.send("answer");
  await expect.poll(() => [server.heard, shown]).toEqual([["early", "late"], ["answer"]]);
  back.close();
  await closed;
});

test("a page that leaves for good ends its session with the server, too", async () => {
  const [front] = createMemoryPair();
  const farewells: unknown[] = [];
  front.close = (farewell) => farewells.push(farewell);
  let leave: TransportEvents["close"] | undefined;
  const [page] = createMemoryPair();
  page.open = (events) => {
    leave = (reason, code) => events.close(reason, code);
  };
  await carryMessages(page, async () => front);
  leave!(undefined, SESSION_OVER_CLOSE_CODE);
  leave!(undefined, 1001);
  expect(farewells).toEqual([{ code: SESSION_OVER_CLOSE_CODE, reason: "" }, undefined]);
});

test("a page that leaves ends the attempt to connect", async () => {
  const [page, browser] = createMemoryPair();
  const aborted = createDeferred<void>();
  const carried = carryMessages(
    page,
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(signal.reason as Error);
        });
      }),
  );
  browser.open({ message: () => {}, drain: () => {}, close: () => {} });
  browser.send("hello");
  browser.close();
  await aborted.promise;
  await carried;
});

test("a server that is there too late for its page is left at once", async () => {
  const [page, browser] = createMemoryPair();
  const [front, back] = createMemoryPair();
  const asked = createDeferred<Transport>();
  const left = createDeferred<void>();
  const carried = carryMessages(page, (signal) => {
    signal.addEventListener("abort", () => left.resolve());
    return asked.promise;
  });
  browser.open({ message: () => {}, drain: () => {}, close: () => {} });
  browser.close();
  await left.promise;
  const { closed } = listen(back);
  asked.resolve(front);
  await Promise.all([carried, closed]);
});

test("a server that cannot be reached is reported", async () => {
  const [page] = createMemoryPair();
  await expect(carryMessages(page, () => Promise.reject(new Error("no route")))).rejects.toThrow("no route");
});

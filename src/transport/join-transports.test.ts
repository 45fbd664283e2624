import { afterEach, beforeEach, expect, it } from "vitest";
import { joinTransports } from "./join-transports.ts";
import { createMemoryPair } from "./memory.ts";
import { HIGH_WATER_BYTES, type Transport } from "./transport.ts";

let left: Transport;
let right: Transport;
let heard: string[];

beforeEach(() => {
  const [outerLeft, innerLeft] = createMemoryPair();
  const [outerRight, innerRight] = createMemoryPair();
  [left, right, heard] = [outerLeft, outerRight, []];
  joinTransports(innerLeft, innerRight);
});
afterEach(() => {
  left.destroy();
  right.destroy();
});

function listen(transport: Transport, name: string): void {
  transport.open({
    message: (text) => void heard.push(`${name} ${text.length > 9 ? text.length : text}`),
    drain: () => {},
    close: () => void heard.push(`${name} ends`),
  });
}

it("passes on messages in both directions, and the last ones before the end", async () => {
  listen(left, "left");
  listen(right, "right");
  left.send("to");
  right.send("fro");
  await expect.poll(() => heard.toSorted()).toEqual(["left fro", "right to"]);
  left.send("last");
  left.close();
  await expect.poll(() => heard).toContain("right ends");
  expect(heard.filter((each) => each.startsWith("right"))).toEqual(["right to", "right last", "right ends"]);
});

it("ends both for an empty message", async () => {
  listen(left, "left");
  listen(right, "right");
  left.send("");
  await expect.poll(() => heard.toSorted()).toEqual(["left ends", "right ends"]);
});

it("reads no more than the other side takes", async () => {
  listen(left, "left");
  const message = "x".repeat(HIGH_WATER_BYTES / 4);
  for (let count = 0; count < 16; count += 1) left.send(message);
  await expect.poll(() => left.queuedBytes).toBe(12 * message.length);
  expect(heard).toEqual([]);
  listen(right, "right");
  await expect.poll(() => heard.length).toBe(16);
});

import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { Bodies } from "./bodies.ts";

const LIMITS = { maxBytes: 100_000, maxTotalBytes: 250_000, maxBytesPerKey: 150_000, timeoutMs: 60_000 };

/** A body that arrives in pieces. */
function body(): PassThrough & IncomingMessage {
  return new PassThrough() as PassThrough & IncomingMessage;
}

async function whole(bodies: Bodies, text: string | Uint8Array) {
  const request = body();
  request.end(text);
  return await bodies.read(request, "a");
}

/** Bytes of a body that has not ended, and that have been taken in. */
async function begun(request: PassThrough, bytes: number): Promise<void> {
  request.write(Buffer.alloc(bytes, 0x20));
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  await turn();
  while (request.readableLength > 0) await turn();
  await turn();
}

describe("a body", () => {
  it("is JSON, in whatever pieces it comes", async () => {
    const bodies = new Bodies(LIMITS);
    const text = JSON.stringify({ text: "ä€😀".repeat(1_000) });
    const request = body();
    const read = bodies.read(request, "a");
    for (const byte of Buffer.from(text)) request.write(Uint8Array.of(byte));
    request.end();
    expect(await read).toEqual({ value: JSON.parse(text) as unknown });
  });

  it.each([
    ["no JSON", "{"],
    ["not UTF-8", Uint8Array.of(0x22, 0xff, 0x22)],
    ["nothing", ""],
    ["nested", "[".repeat(50_000)],
  ])("that is %s is refused", async (_, text) => {
    expect(await whole(new Bodies(LIMITS), text)).toMatchObject({ fault: { status: 400, code: -32_700 } });
  });

  it("may have as many bytes as the limit says, and no more", async () => {
    const bodies = new Bodies(LIMITS);
    const longest = `"${"x".repeat(LIMITS.maxBytes - 2)}"`;
    expect(await whole(bodies, longest)).toHaveProperty("value");
    expect(await whole(bodies, `${longest} `)).toMatchObject({ fault: { status: 413 } });
  });

  it("that stops coming is not waited for", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const request = body();
      const read = new Bodies(LIMITS).read(request, "a");
      request.write("{");
      vi.advanceTimersByTime(LIMITS.timeoutMs);
      await expect(read).rejects.toThrow("did not arrive in time");
    } finally {
      vi.useRealTimers();
    }
  });

  it("whose client goes takes its memory along", async () => {
    const bodies = new Bodies(LIMITS);
    for (let count = 0; count < 10; count += 1) {
      const request = body();
      const read = bodies.read(request, "a");
      await begun(request, 90_000);
      request.destroy(new Error("gone"));
      await expect(read).rejects.toThrow("gone");
    }
    expect(await whole(bodies, "1")).toEqual({ value: 1 });
  });
});

it("one client cannot take all memory, and all together not more than there is", async () => {
  const bodies = new Bodies(LIMITS);
  const [a, b, c] = [body(), body(), body()];
  const reads = [bodies.read(a, "a"), bodies.read(b, "b"), bodies.read(c, "c")];
  await begun(a, 90_000);
  const refused = await whole(bodies, Buffer.alloc(90_000, 0x20));
  expect(refused).toMatchObject({ fault: { status: 503 } });
  await begun(b, 90_000);
  await begun(c, 90_000);
  c.end();
  expect(await reads[2]).toMatchObject({ fault: { status: 503 } });
  a.end("1");
  b.end("2");
  expect(await reads[0]).toEqual({ value: 1 });
  expect(await reads[1]).toEqual({ value: 2 });
  expect(await whole(bodies, `${" ".repeat(90_000)}3`)).toEqual({ value: 3 });
});

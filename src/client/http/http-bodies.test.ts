import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../base/base64.ts";
import { ConnectionError, ProtocolError } from "../../base/errors.ts";
import { type BodyStream, HttpBodies } from "./http-bodies.ts";

const MIB = 1024 * 1024;

function delta(requestId: string, seq: number, data: string | Uint8Array, more: object = {}) {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return { requestId, seq, deltaBase64: encodeBase64(bytes), done: false, error: null, ...more };
}

const end = (requestId: string, seq: number, error: string | null = null) => ({
  requestId,
  seq,
  deltaBase64: "",
  done: true,
  error,
});

async function readText(stream: BodyStream): Promise<string> {
  let text = "";
  for await (const bytes of stream) text += new TextDecoder().decode(bytes);
  return text;
}

async function readUntilFailure(stream: BodyStream): Promise<{ bytes: number; error: Error }> {
  let bytes = 0;
  try {
    for await (const piece of stream) bytes += piece.length;
  } catch (error) {
    return { bytes, error: error as Error };
  }
  throw new Error("the stream did not fail");
}

describe("HttpBodies", () => {
  it("names its streams http-1, http-2 and so on", () => {
    const bodies = new HttpBodies();
    expect([bodies.open().id, bodies.open().id, bodies.open().id]).toEqual(["http-1", "http-2", "http-3"]);
    expect(bodies.size).toBe(3);
  });

  it("gives each stream its own bytes in order, before and after they are asked for", async () => {
    const bodies = new HttpBodies();
    const one = bodies.open();
    const two = bodies.open();
    const waiting = one.next();
    bodies.receive(delta("http-1", 1, "a"));
    bodies.receive(delta("http-2", 1, "x"));
    bodies.receive(delta("http-1", 2, "b"));
    bodies.receive(end("http-1", 3));
    bodies.receive(end("http-2", 2));
    expect(await waiting).toEqual({ done: false, value: new Uint8Array(Buffer.from("a")) });
    expect(await readText(one)).toBe("b");
    expect(await readText(two)).toBe("x");
    expect(await one.next()).toEqual({ done: true, value: undefined });
    expect(bodies.size).toBe(0);
  });

  it("data and the end may share a delta", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    bodies.receive(delta("http-1", 1, "all", { done: true }));
    expect(bodies.size).toBe(0);
    expect(await readText(stream)).toBe("all");
  });

  it("a gap fails the stream, behind what came before it", async () => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    const stream = bodies.open();
    bodies.receive(delta("http-1", 1, "a"));
    bodies.receive(delta("http-1", 3, "c"));
    expect(bodies.size).toBe(0);
    bodies.receive(delta("http-1", 2, "b"));
    const { bytes, error } = await readUntilFailure(stream);
    expect(bytes).toBe(1);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error.message).toBe("http response stream `http-1` received seq 3, expected 2");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(cancelled).toEqual(["http-1"]);
  });

  it("a repeated number is a gap too, and so is one that does not start at 1", async () => {
    const bodies = new HttpBodies();
    const one = bodies.open();
    const two = bodies.open();
    bodies.receive(delta("http-1", 1, "a"));
    bodies.receive(delta("http-1", 1, "a"));
    bodies.receive(delta("http-2", 0, "a"));
    expect((await readUntilFailure(one)).error.message).toMatch(/received seq 1, expected 2$/);
    expect((await readUntilFailure(two)).error.message).toMatch(/received seq 0, expected 1$/);
  });

  it("an error from the server comes after the data, also that of its own delta", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    bodies.receive(delta("http-1", 1, "ab"));
    bodies.receive(delta("http-1", 2, "c", { done: true, error: "error decoding response body" }));
    expect(bodies.size).toBe(0);
    const { bytes, error } = await readUntilFailure(stream);
    expect(bytes).toBe(3);
    expect(error).toMatchObject({
      code: "OS_ERROR",
      message: "http response stream `http-1` failed: error decoding response body",
    });
  });

  it("a failure reaches a reader that waits", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    const [first, second] = [stream.next(), stream.next()];
    bodies.receive(end("http-1", 1, "broken"));
    await expect(first).rejects.toThrow("http response stream `http-1` failed: broken");
    expect(await second).toEqual({ done: true, value: undefined });
  });

  it("unknown ids are ignored, also those of streams that are over", async () => {
    const bodies = new HttpBodies();
    bodies.receive(delta("http-9", 7, "x"));
    const stream = bodies.open();
    bodies.receive(end("http-1", 1));
    bodies.receive(delta("http-1", 2, "late"));
    expect(await readText(stream)).toBe("");
  });

  it("256 pieces wait for a reader; the next fails their stream alone, behind them", async () => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    const slow = bodies.open();
    const other = bodies.open();
    // Too large to share a piece.
    const large = new Uint8Array(33 * 1024);
    for (let seq = 1; seq <= 256; seq += 1) bodies.receive(delta("http-1", seq, large));
    expect(bodies.size).toBe(2);
    bodies.receive(delta("http-1", 257, large));
    expect(bodies.size).toBe(1);
    expect(cancelled).toEqual(["http-1"]);
    bodies.receive(delta("http-2", 1, "fine"));
    bodies.receive(end("http-2", 2));
    const { bytes, error } = await readUntilFailure(slow);
    expect(bytes).toBe(256 * large.length);
    expect(error.message).toBe(
      "http response stream `http-1` failed: body delta channel filled before delivery",
    );
    expect(await readText(other)).toBe("fine");
  });

  it("a whole body of 256 pieces may end before it is read", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    const large = new Uint8Array(33 * 1024);
    for (let seq = 1; seq <= 256; seq += 1) bodies.receive(delta("http-1", seq, large));
    bodies.receive(end("http-1", 257));
    let bytes = 0;
    for await (const piece of stream) bytes += piece.length;
    expect(bytes).toBe(256 * large.length);
  });

  it("small deltas share pieces, in order and without loss", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    let expected = "";
    for (let seq = 1; seq <= 30_000; seq += 1) {
      expected += `${seq},`;
      bodies.receive(delta("http-1", seq, `${seq},`));
    }
    bodies.receive(end("http-1", 30_001));
    const sizes: number[] = [];
    let text = "";
    for await (const piece of stream) {
      sizes.push(piece.length);
      text += new TextDecoder().decode(piece);
    }
    expect(text === expected).toBe(true);
    expect(sizes.length).toBeLessThan(4);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024);
  });

  it("16 MiB wait over all streams; more fails the stream that brings it, alone", async () => {
    const bodies = new HttpBodies();
    const first = bodies.open();
    const second = bodies.open();
    for (let seq = 1; seq <= 15; seq += 1) bodies.receive(delta("http-1", seq, new Uint8Array(MIB)));
    bodies.receive(delta("http-2", 1, new Uint8Array(MIB)));
    bodies.receive(delta("http-2", 2, new Uint8Array(1)));
    const { bytes, error } = await readUntilFailure(second);
    expect(bytes).toBe(MIB);
    expect(error.message).toBe(
      "http response stream `http-2` failed: queued body deltas exceed 16777216 bytes",
    );
    // Reading makes room.
    bodies.receive(delta("http-1", 16, new Uint8Array(MIB)));
    bodies.receive(end("http-1", 17));
    let read = 0;
    for await (const piece of first) read += piece.length;
    expect(read).toBe(16 * MIB);
  });

  it("a stream that is left gives its room back", async () => {
    const bodies = new HttpBodies();
    const left = bodies.open();
    for (let seq = 1; seq <= 16; seq += 1) bodies.receive(delta("http-1", seq, new Uint8Array(MIB)));
    await left.return();
    const next = bodies.open();
    for (let seq = 1; seq <= 16; seq += 1) bodies.receive(delta("http-2", seq, new Uint8Array(MIB)));
    bodies.receive(end("http-2", 17));
    let read = 0;
    for await (const piece of next) read += piece.length;
    expect(read).toBe(16 * MIB);
  });

  it("a delta of more than 1 MiB fails its stream", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    bodies.receive(delta("http-1", 1, new Uint8Array(MIB)));
    bodies.receive(delta("http-1", 2, new Uint8Array(MIB + 1)));
    const { bytes, error } = await readUntilFailure(stream);
    expect(bytes).toBe(MIB);
    expect(error).toBeInstanceOf(ProtocolError);
  });

  it.each([
    ["no object", null],
    ["a list", []],
    ["no id", { seq: 1, deltaBase64: "", done: true, error: null }],
    ["the id of another", { requestId: "http-9", seq: "1" }],
  ])("params with %s that do not fit are a fault of the connection", (_, params) => {
    const bodies = new HttpBodies();
    bodies.open();
    expect(() => bodies.receive(params)).toThrow(ProtocolError);
    expect(bodies.size).toBe(1);
  });

  it.each([
    ["a number that is text", { seq: "1" }],
    ["no bytes", { deltaBase64: undefined }],
    ["no end", { done: undefined }],
    ["no base64", { deltaBase64: "?" }],
    ["a failure that is no text", { error: 5 }],
  ])("a delta with %s fails its stream, which the server need not send any further", async (_, wrong) => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    const stream = bodies.open();
    bodies.open();
    bodies.receive({ requestId: "http-1", seq: 1, deltaBase64: "", done: true, error: null, ...wrong });
    await expect(stream.next()).rejects.toBeInstanceOf(ProtocolError);
    expect(cancelled).toEqual(["http-1"]);
    expect(bodies.size).toBe(1);
  });

  it("a lost connection fails every stream, behind what is queued, and cancels nothing", async () => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    const one = bodies.open();
    const two = bodies.open();
    bodies.receive(delta("http-1", 1, "a"));
    const waiting = two.next();
    bodies.failAll("exec-server transport disconnected");
    expect(bodies.size).toBe(0);
    const { bytes, error } = await readUntilFailure(one);
    expect(bytes).toBe(1);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toBe("http response stream `http-1` failed: exec-server transport disconnected");
    await expect(waiting).rejects.toThrow(
      "http response stream `http-2` failed: exec-server transport disconnected",
    );
    expect(cancelled).toEqual([]);
  });

  it("a reader that leaves unregisters and cancels, once, and only what is not over", async () => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    const left = bodies.open();
    const over = bodies.open();
    bodies.receive(delta("http-1", 1, "a"));
    bodies.receive(delta("http-1", 2, "b"));
    bodies.receive(end("http-2", 1));
    for await (const _ of left) break;
    expect(bodies.size).toBe(0);
    await left.return();
    await over.return();
    expect(cancelled).toEqual(["http-1"]);
    bodies.receive(delta("http-1", 3, "c"));
    expect(await left.next()).toEqual({ done: true, value: undefined });
  });

  it("leaving ends a read that waits", async () => {
    const bodies = new HttpBodies();
    const stream = bodies.open();
    const waiting = stream.next();
    await stream.return();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it("a stream that never began is forgotten without being cancelled", async () => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    bodies.open().forget();
    expect(bodies.size).toBe(0);
    expect(cancelled).toEqual([]);
  });

  it("an abort fails with the signal's reason at once, drops what is queued and cancels", async () => {
    const cancelled: string[] = [];
    const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
    const controller = new AbortController();
    const stream = bodies.open({ signal: controller.signal });
    bodies.receive(delta("http-1", 1, "queued"));
    const reason = new Error("enough");
    controller.abort(reason);
    expect(bodies.size).toBe(0);
    expect(cancelled).toEqual(["http-1"]);
    await expect(stream.next()).rejects.toBe(reason);
    const late = bodies.open({ signal: controller.signal });
    expect(bodies.size).toBe(0);
    await expect(late.next()).rejects.toBe(reason);
  });
});

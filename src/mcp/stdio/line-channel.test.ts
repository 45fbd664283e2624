import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { LineChannel } from "./line-channel.ts";
import { LongLine } from "./long-line.ts";

const LIMIT = 1_000;

async function channel() {
  const input = new PassThrough();
  const output = new PassThrough();
  output.setEncoding("utf8");
  const messages: object[] = [];
  const opened = new LineChannel(input, output, LIMIT);
  Object.assign(opened, { onmessage: (message: object) => messages.push(message) });
  await opened.start();
  const answer = async (): Promise<unknown> => {
    const text = (output.read() as string | null) ?? ((await once(output, "data")) as [string])[0];
    return JSON.parse(text) as unknown;
  };
  return { opened, input, output, messages, answer };
}

const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });

it("delivers messages, however they are split", async () => {
  const { input, messages } = await channel();
  const bytes = Buffer.from(`${JSON.stringify(ping(1))}\r\n\n${JSON.stringify(ping(2))}\n`);
  for (const byte of bytes) input.write(Buffer.of(byte));
  await expect.poll(() => messages).toEqual([ping(1), ping(2)]);
});

describe("answers what it cannot deliver, and goes on", () => {
  it.each([
    ["text", "hello", null, -32_700],
    ["a batch", JSON.stringify([ping(1)]), null, -32_600],
    ["another version", '{"id":4,"method":"ping"}', 4, -32_600],
    ["null", "null", null, -32_600],
    ["nesting", "[".repeat(500), null, -32_700],
    ["a line that is too long", JSON.stringify({ ...ping(7), params: { x: "y".repeat(LIMIT) } }), 7, -32_600],
  ])("%s", async (_, line, id, code) => {
    const { input, messages, answer } = await channel();
    input.write(`${line}\n${JSON.stringify(ping(2))}\n`);
    expect(await answer()).toMatchObject({
      jsonrpc: "2.0",
      id,
      error: { code, message: expect.any(String) },
    });
    expect(messages).toEqual([ping(2)]);
  });

  it("bytes that are not UTF-8", async () => {
    const { input, answer } = await channel();
    input.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    expect(await answer()).toMatchObject({ id: null, error: { code: -32_700 } });
  });
});

it("stops reading while the client does not read", async () => {
  const { opened, input, output } = await channel();
  const result = { jsonrpc: "2.0", id: 1, result: { text: "x".repeat(1024 * 1024) } } as const;
  for (let count = 0; count < 20; count += 1) void opened.send(result);
  expect(input.isPaused()).toBe(true);
  output.resume();
  await expect.poll(() => input.isPaused()).toBe(false);
});

it("closes when the client goes, once", async () => {
  const { opened, input } = await channel();
  let closes = 0;
  Object.assign(opened, { onclose: () => (closes += 1) });
  input.end();
  await opened.closed;
  await opened.close();
  expect(closes).toBe(1);
  await expect(opened.send({ jsonrpc: "2.0", id: 1, result: {} })).rejects.toThrow("closed");
});

describe("the id of a request that is too long", () => {
  const idOf = (text: string, size = 3): unknown => {
    const line = new LongLine();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) line.push(bytes.subarray(at, at + size));
    return line.requestId;
  };

  it.each([
    ["first", '{"id":1,"method":"x"}', 1],
    ["last", '{"method":"x","params":{"id":2,"a":[{"id":3}]},"id":"four"}', "four"],
    ["between blanks", '{ "method" : "x" , "id" : 5 , "params" : {} }', 5],
    ["after a text with everything in it", '{"method":"x","params":{"a":"}],\\"id\\":9,\\\\"},"id":6}', 6],
    ["with commas and colons in it", '{"method":"x","id":"a,b:c"}', "a,b:c"],
    ["of an answer", '{"id":1,"result":{}}', undefined],
    ["that is missing", '{"method":"x","params":{"id":1}}', undefined],
    ["that is an object", '{"method":"x","id":{"id":1}}', undefined],
    ["that is too long itself", `{"method":"x","id":"${"i".repeat(300)}"}`, undefined],
    ["of what is no object", '[[{"method":"x","id":1}]]', undefined],
  ])("%s", (_, text, id) => {
    for (const size of [1, 3, 1_000]) expect(idOf(text, size)).toBe(id);
  });
});

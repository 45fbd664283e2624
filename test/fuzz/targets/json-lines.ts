import { EventEmitter } from "node:events";
import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import { JsonLinesTransport } from "../../../src/transport/json-lines.ts";
import { withPlan } from "../choices.ts";
import { chunksOf, expectEqual, type Target } from "../target.ts";

const MAX_LINE_BYTES = 64;
const NO_TEXT = "\uFFFD";
const PLAN_BYTES = 16;

/** Messages of the lines, up to one that is too long. */
function expected(bytes: Buffer): string[] {
  const heard: string[] = [];
  const lines = bytes.toString("latin1").split("\n");
  for (const [index, line] of lines.entries()) {
    const content =
      line.endsWith("\r") && (index < lines.length - 1 || line.length > 0) ? line.slice(0, -1) : line;
    if (content.length > MAX_LINE_BYTES) return [...heard, "too long"];
    const own = Buffer.from(content, "latin1");
    if (!isUtf8(own)) heard.push(NO_TEXT);
    else if (own.toString().trim() !== "") heard.push(own.toString());
  }
  return [...heard, "end"];
}

/** Lines are messages, in whatever pieces they arrive and whenever their reader pauses. */
export const target: Target = {
  seeds: [
    Buffer.concat([Buffer.alloc(PLAN_BYTES), Buffer.from('{"id":1}\n{"id":2}\r\n\n  \n"\u00fc"\nlast')]),
    Buffer.concat([
      Buffer.from([1, 2, 1, 3, 0, 7, 0, 1]),
      Buffer.alloc(PLAN_BYTES - 8),
      Buffer.from(`${"x".repeat(MAX_LINE_BYTES)}\n${"y".repeat(30)}\r\n`),
    ]),
  ],
  words: [
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "x".repeat(MAX_LINE_BYTES - 1),
    "x".repeat(MAX_LINE_BYTES),
    `${"x".repeat(MAX_LINE_BYTES)}\r\n`,
    Buffer.from([0xff]),
  ],
  run(input) {
    const { plan, bytes } = withPlan(input, PLAN_BYTES);
    const pauseEvery = plan.below(4);
    const streams = [0, 1].map(() =>
      Object.assign(new EventEmitter(), { pause() {}, resume() {}, destroy() {}, end() {} }),
    );
    const source = streams[0]!;
    const transport = new JsonLinesTransport(
      source as unknown as Readable,
      streams[1] as unknown as Writable,
      "fuzz",
      MAX_LINE_BYTES,
    );
    const heard: string[] = [];
    transport.open({
      message: (text) => {
        heard.push(text);
        if (pauseEvery > 0 && heard.length % pauseEvery === 0) transport.pause();
      },
      tooLong: () => heard.push("too long"),
      inputEnd: () => heard.push("end"),
      drain: () => {},
      close: () => {},
    });
    for (const chunk of chunksOf(bytes, plan)) {
      source.emit("data", chunk);
      if (plan.below(2) === 1) transport.resume();
    }
    source.emit("end");
    for (let left = bytes.length + 1; left > 0; left -= 1) transport.resume();
    expectEqual(heard, expected(bytes), "the messages");
  },
};

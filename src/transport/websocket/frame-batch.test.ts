import type { Writable } from "node:stream";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import * as webSocketLibrary from "ws";
import { FrameBatch, MAX_BATCHED_CHARACTERS } from "./frame-batch.ts";

// Exported by the library, though its types do not say so.
const { Receiver } = webSocketLibrary as unknown as { Receiver: new (options: object) => Writable };

function read(frames: Buffer): string[] {
  const heard: string[] = [];
  const receiver = new Receiver({ isServer: false });
  receiver.on("message", (data: Buffer) => heard.push(data.toString()));
  receiver.write(frames);
  return heard;
}

it("a reader finds every message again, whatever its characters and length", () => {
  const edges = [0, 1, 41, 42, 62, 63, 124, 125, 126, 127, 400, MAX_BATCHED_CHARACTERS];
  const text = fc
    .tuple(fc.constantFrom(...edges), fc.constantFrom("a", "é", "€", "🙂"))
    .map(([length, character]) => character.repeat(Math.floor(length / character.length)));
  // A batch is full of characters, or of messages that are short.
  const short = fc.nat(130).map((length) => "é".repeat(length));
  const manyShort = fc.array(short, { minLength: 60, maxLength: 200, size: "max" });
  fc.assert(
    fc.property(fc.oneof(fc.array(text, { maxLength: 80, size: "max" }), manyShort), (texts) => {
      const batch = new FrameBatch();
      const heard: string[] = [];
      for (const one of texts) {
        batch.add(one);
        if (batch.isFull) heard.push(...read(batch.take()));
      }
      if (!batch.isEmpty) heard.push(...read(batch.take()));
      expect(heard).toEqual(texts);
    }),
  );
});

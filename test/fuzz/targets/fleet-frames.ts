import {
  FrameKind,
  HEADER_BYTES,
  numberedFrame,
  readJson,
  readState,
  stampProgress,
  stateFrame,
} from "../../../src/fleet/frames.ts";
import { Incoming, WINDOW_BYTES } from "../../../src/fleet/incoming.ts";
import { Choices } from "../choices.ts";
import { expectEqual, type Target } from "../target.ts";

const MAX_MESSAGE_BYTES = 40_000;
const MIN_PIECE_BYTES = 16 * 1024;
const MAX_REASON_BYTES = 512;
const KINDS = [FrameKind.last, FrameKind.piece, FrameKind.last, FrameKind.end];
const PLACES = ["next", "next", "next", "next", "next", "earlier", "later"] as const;

/** What an end of a connection may hear and answer. */
class Model {
  readonly heard: string[] = [];
  received = 0;
  #waiting: { kind: number; body: Buffer; length: number }[] = [];
  #consumed = 0;
  #message = "";
  #isOver = false;
  isPaused = true;

  take(kind: number, position: number, body: Buffer): string {
    const length = HEADER_BYTES + body.length;
    if (position < this.received) return "repeated";
    if (position > this.received) return "gap";
    if (position + length > this.#consumed + WINDOW_BYTES) return "violation";
    if (kind === FrameKind.piece && body.length < MIN_PIECE_BYTES) return "violation";
    this.received += length;
    if (!this.#isOver) this.#waiting.push({ kind, body, length });
    this.read();
    return "taken";
  }

  read(): void {
    while (!this.isPaused && !this.#isOver) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#consumed += next.length;
      if (next.kind === FrameKind.end) {
        const { body } = next;
        this.#end(
          `end ${body.length < 2 ? 0 : body.readUInt16BE()} ${body.toString("utf8", 2, 2 + MAX_REASON_BYTES)}`,
        );
        continue;
      }
      this.#message += next.body.toString("latin1");
      if (this.#message.length > MAX_MESSAGE_BYTES) this.#end("too long");
      else if (next.kind === FrameKind.last) {
        this.heard.push(this.#message);
        this.#message = "";
      }
    }
  }

  #end(how: string): void {
    this.heard.push(how);
    this.#isOver = true;
  }

  get limit(): number {
    return this.#consumed + WINDOW_BYTES;
  }
}

function body(choices: Choices): Buffer {
  const length = choices.pick([
    0,
    1,
    5,
    30,
    MIN_PIECE_BYTES - 1,
    MIN_PIECE_BYTES,
    MIN_PIECE_BYTES + 1,
    MAX_MESSAGE_BYTES,
    200_000,
  ]);
  return Buffer.alloc(length, 0x61 + choices.below(26));
}

/** An input is what a peer sends and when its reader pauses. */
export const target: Target = {
  seeds: [
    Buffer.from([1, 0, 0, 2, 0, 0, 1, 0, 5, 1, 0, 0, 0, 3, 0, 3, 2]),
    Buffer.from([0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 8, 1, 1, 5, 1, 1]),
  ],
  run(input) {
    const choices = new Choices(input);
    const heard: string[] = [];
    const incoming = new Incoming(
      {
        message: (bytes) => heard.push(bytes.toString("latin1")),
        tooLong: () => heard.push("too long"),
        end: (code, reason) => heard.push(`end ${code} ${reason}`),
      },
      MAX_MESSAGE_BYTES,
    );
    const model = new Model();
    for (let steps = 0; steps < 60 && !choices.isOver; steps += 1) {
      const deed = choices.below(8);
      if (deed === 0) incoming.pause();
      if (deed === 0) model.isPaused = true;
      if (deed === 1) {
        model.isPaused = false;
        incoming.resume();
        model.read();
      }
      if (deed < 2) continue;
      const kind = choices.pick(KINDS);
      const content = body(choices);
      const where = choices.pick(PLACES);
      const shift = where === "next" ? 0 : where === "earlier" ? -1 : 1;
      const position = Math.max(0, model.received + shift * (1 + choices.below(100)));
      const frame = numberedFrame(kind, position, content.length);
      content.copy(frame, HEADER_BYTES);
      stampProgress(frame, { received: 0, limit: 0 });
      expectEqual(incoming.take(frame), model.take(kind, position, content), "what becomes of a frame");
      expectEqual(incoming.progress, { received: model.received, limit: model.limit }, "the progress");
    }
    expectEqual(heard, model.heard, "what is heard");
    readJson(input);
    const state = readState(input);
    if (state !== undefined) expectEqual(readState(stateFrame(state)), state, "a state, written and read");
  },
};

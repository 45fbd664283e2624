import { readFrame } from "../../src/relay/frame.ts";
import { takeFrame } from "../e2e/websocket-messages.ts";
import type { Leg, Passage } from "./leg-proxy.ts";

const HEAD_END = "\r\n\r\n";
const FIRST_CONTROL_OPCODE = 8;

/** Which of these texts can be read in what has passed: as they are, in hex, or in base64 however it is aligned. */
export function readable(passages: readonly Passage[], texts: readonly string[]): readonly string[] {
  const streams = passages.flatMap(({ toRelay, fromRelay }) =>
    [toRelay, fromRelay].flatMap((chunks) => [Buffer.concat(chunks), Buffer.concat(unmasked(chunks))]),
  );
  return texts.filter((text) =>
    spellings(text).some((spelling) => streams.some((bytes) => bytes.includes(spelling))),
  );
}

/** What the frames of a leg in one direction are about, each kind once. */
export function frameKinds(
  passages: readonly Passage[],
  leg: Leg,
  side: "toRelay" | "fromRelay",
): Set<string> {
  const frames = passages.filter((each) => each.leg === leg).flatMap((each) => unmasked(each[side]));
  return new Set(frames.map((frame) => readFrame(frame)?.kind ?? "rubbish"));
}

/** The payloads of a WebSocket's frames; nothing for what is not a WebSocket. */
function unmasked(chunks: readonly Buffer[]): Buffer[] {
  const raw = Buffer.concat(chunks);
  const head = raw.indexOf(HEAD_END) + HEAD_END.length;
  if (!/\r\nupgrade: *websocket\r\n/i.test(raw.toString("latin1", 0, head))) return [];
  const payloads: Buffer[] = [];
  for (let frame = takeFrame(raw.subarray(head)); frame !== undefined; frame = takeFrame(frame.rest))
    if (frame.opcode < FIRST_CONTROL_OPCODE) payloads.push(frame.payload);
  return payloads;
}

/** The text as it is, and the part of its base64 that is the same whatever stands beside it. */
function spellings(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const encoded = [0, 1, 2].map((before) => {
    const base64 = Buffer.concat([Buffer.alloc(before), bytes, Buffer.alloc(3)]).toString("base64");
    const known = Math.floor(((before + bytes.length) * 8) / 6);
    return base64.slice(before === 0 ? 0 : 4, known);
  });
  return [text, bytes.toString("hex"), ...encoded].map((each) => Buffer.from(each));
}

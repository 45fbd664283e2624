import { describe, expect, it } from "vitest";
import { encodings } from "./replacement.ts";
import { RestoredMessages } from "./restored-messages.ts";

const SECRET = "k-abcdefghijklmnopqrst";
const STAND_IN = "k-zyxwvutsrqponmlkjihg";
const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;

interface Fragment {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: string;
}

function frame(opcode: number, payload: string, { isFinal = true, bits = 0 } = {}): Buffer {
  const body = Buffer.from(payload, "latin1");
  const first = (isFinal ? 0x80 : 0) | bits | opcode;
  if (body.length < 126) return Buffer.concat([Buffer.from([first, body.length]), body]);
  const size = Buffer.alloc(body.length < 65_536 ? 2 : 8);
  if (size.length === 2) size.writeUInt16BE(body.length);
  else size.writeBigUInt64BE(BigInt(body.length));
  return Buffer.concat([Buffer.from([first, size.length === 2 ? 126 : 127]), size, body]);
}

/** What comes out, as frames. */
function through(pieces: readonly Buffer[]): { fragments: Fragment[]; error: string | undefined } {
  const pairs = encodings(SECRET, STAND_IN);
  const stream = new RestoredMessages(() => pairs);
  const seen: Buffer[] = [];
  stream.on("data", (bytes: Buffer) => seen.push(bytes));
  stream.on("error", () => {});
  for (const piece of pieces) stream.write(piece);
  const fragments: Fragment[] = [];
  for (let rest = Buffer.concat(seen); rest.length > 0; ) {
    const short = rest[1]! & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    const size = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    const payload = rest.subarray(head, head + size).toString("latin1");
    fragments.push({ opcode: rest[0]! & 0x0f, isFinal: (rest[0]! & 0x80) !== 0, payload });
    rest = rest.subarray(head + size);
  }
  return { fragments, error: stream.errored?.message };
}

const bytewise = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
const joined = (fragments: readonly Fragment[]): string =>
  fragments.flatMap(({ opcode, payload }) => (opcode < 8 ? [payload] : [])).join("");

describe("messages of a WebSocket", () => {
  it.each(["whole", "byte by byte"])("have no secret, and stay as they are otherwise: %s", (how) => {
    const sent = Buffer.concat([
      frame(TEXT, "first"),
      frame(2, `x ${SECRET} y`),
      frame(PING, SECRET),
      frame(TEXT, ""),
      frame(TEXT, "z".repeat(70_000)),
    ]);
    const { fragments, error } = through(how === "whole" ? [sent] : bytewise(sent));
    expect(error).toBeUndefined();
    expect(fragments.slice(0, 4)).toEqual([
      { opcode: TEXT, isFinal: true, payload: "first" },
      { opcode: 2, isFinal: true, payload: `x ${STAND_IN} y` },
      { opcode: PING, isFinal: true, payload: STAND_IN },
      { opcode: TEXT, isFinal: true, payload: "" },
    ]);
    expect(joined(fragments.slice(4))).toBe("z".repeat(70_000));
    expect(fragments.map(({ isFinal }) => isFinal).lastIndexOf(false)).toBeLessThan(fragments.length - 1);
  });

  it.each([1, 2, 5, 10, 21])("have none in fragments of %i bytes, with pings between them", (size) => {
    const parts = SECRET.match(new RegExp(`.{1,${size}}`, "g"))!;
    const frames = parts.flatMap((part, at) => [
      frame(at === 0 ? TEXT : CONTINUATION, part, { isFinal: false }),
      frame(PING, "alive"),
    ]);
    const { fragments, error } = through([...frames, frame(CONTINUATION, "")]);
    expect(error).toBeUndefined();
    expect(joined(fragments)).toBe(STAND_IN);
    expect(fragments.filter(({ opcode }) => opcode === PING)).toHaveLength(parts.length);
    const data = fragments.filter(({ opcode }) => opcode < 8);
    expect(data.map(({ opcode }) => opcode)).toEqual([TEXT, ...data.slice(1).map(() => CONTINUATION)]);
    expect(data.map(({ isFinal }) => isFinal)).toEqual([...data.slice(1).map(() => false), true]);
  });

  it.each(["serv", "k-abc", "17", "data k-a"])("arrive to their end if that is %s", (text) => {
    expect(through([frame(TEXT, text)]).fragments).toEqual([{ opcode: TEXT, isFinal: true, payload: text }]);
  });

  it("are cut in the same places whether or not a guess is right", () => {
    const lengths = (guess: string): number[] =>
      through([frame(TEXT, `data ${guess}`, { isFinal: false }), frame(CONTINUATION, "!")]).fragments.map(
        ({ payload }) => payload.length,
      );
    expect(lengths("k-abcd")).toEqual(lengths("k-abce"));
  });

  it.each([
    ["a compressed one", frame(TEXT, "x", { bits: 0x40 }), "cannot be looked into"],
    ["a masked one", Buffer.from([0x81, 0x81, 0, 0, 0, 0, 120]), "cannot be looked into"],
    ["a fragment of nothing", frame(CONTINUATION, "x"), "out of place"],
    [
      "a second beginning",
      Buffer.concat([frame(TEXT, "x", { isFinal: false }), frame(TEXT, "x")]),
      "out of place",
    ],
    ["an unknown kind", frame(3, "x"), "unknown kind"],
    ["a control frame in fragments", frame(PING, "x", { isFinal: false }), "control frame is invalid"],
    ["a long control frame", frame(PING, "x".repeat(126)), "control frame is invalid"],
  ])("end with %s", (_, bytes, message) => {
    expect(through([bytes]).error).toContain(message);
  });
});

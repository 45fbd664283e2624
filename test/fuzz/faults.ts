/** A small change to a source, which the fuzzer must find within its short run. */
export interface Fault {
  readonly what: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
  /** The fuzz target that reaches it. */
  readonly target: string;
}

/** Chosen and committed before the fuzzer was written. */
export const FAULTS: readonly Fault[] = [
  {
    what: "the fragments of a message are not added up",
    file: "src/transport/websocket/frame-scanner.ts",
    from: "(opcode === 0 ? this.#messageBytes : 0) + payloadBytes",
    to: "payloadBytes",
    target: "websocket-frames",
  },
  {
    what: "the longest line is refused if it ends with a carriage return",
    file: "src/transport/json-lines.ts",
    from: "this.#partialBytes > this.#maxLineBytes + 1",
    to: "this.#partialBytes > this.#maxLineBytes",
    target: "json-lines",
  },
  {
    what: "a header that arrives in pieces is read again",
    file: "src/server/wire/frames.ts",
    from: "this.#headerBytes += taken",
    to: "this.#headerBytes = taken",
    target: "helper-frames",
  },
  {
    what: "an even number of backslashes escapes a quote",
    file: "src/base/json-string.ts",
    from: "(index - start) % 2 === 1",
    to: "index > start",
    target: "json-scan",
  },
  {
    what: "a last symbol with spare bits is accepted",
    file: "src/base/base64.ts",
    from: '"AEIMQUYcgkosw048"',
    to: '"AEIMQUYcgkoswx048"',
    target: "base64",
  },
  {
    what: "the letter g is a hexadecimal digit",
    file: "src/base/file-uri.ts",
    from: "letter <= 0x66",
    to: "letter <= 0x67",
    target: "file-uri",
  },
  {
    what: "a character that lacks its last byte is taken for a whole one",
    file: "src/capabilities/process/output/screen/unfinished.ts",
    from: "last.length - start < lengthOf(last[start]!)",
    to: "last.length - start < lengthOf(last[start]!) - 1",
    target: "terminal",
  },
  {
    what: "the 33rd bit of a number is lost",
    file: "src/relay/protobuf.ts",
    from: "high = bits >> 4",
    to: "high = bits >> 5",
    target: "relay-frames",
  },
  {
    what: "the pieces of earlier messages still count",
    file: "src/fleet/incoming.ts",
    from: "    this.#pieceBytes = 0;\n    this.#events.message",
    to: "    this.#events.message",
    target: "fleet-frames",
  },
  {
    what: "a line that continues another one is accepted",
    file: "src/server/audit/verify.ts",
    from: "if (prev === head.hash)",
    to: "if (prev.length === head.hash.length)",
    target: "audit",
  },
];

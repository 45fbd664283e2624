import { type AuditHead, MAX_LINE_BYTES, NO_HASH, readLine, type ReadLine } from "./chain.ts";

/** A head that is known from elsewhere. */
export interface KnownHead {
  readonly line?: number;
  readonly hash: string;
}

/** The first line that does not fit. */
interface AuditFault {
  /** Kind of fault. */
  readonly kind: "changed" | "missing" | "swapped" | "inserted" | "replaced" | "cutOff" | "rewritten";
  readonly message: string;
  /** Number that the line has, or should have. */
  readonly line: number;
  readonly file?: string;
  /** Position in its file, from 1. */
  readonly position?: number;
}

export interface AuditVerdict {
  readonly fault?: AuditFault;
  /** Number of lines that fit. */
  readonly lines: number;
  /** Number of the first line; more than 1 if earlier files are not there. */
  readonly first?: number;
  /** The last line that fits. */
  readonly head?: AuditHead;
  /** Lines that the server could not write, as it says itself. */
  readonly lost: number;
  /** Bytes at the end that are not a whole line: it is being written, or its writer crashed. */
  readonly tornBytes?: number;
}

/** One file of a log, in order. */
export interface AuditPart {
  readonly name: string;
  readonly content: AsyncIterable<Buffer>;
}

interface Placed {
  readonly file: string;
  readonly position: number;
  /** Without its line feed. */
  readonly bytes: Buffer;
  /** False for the rest after the last line feed. */
  readonly isWhole: boolean;
}

/** How far to search for a misplaced line. */
const SEARCHED_LINES = 10_000;

/** Checks each line against its predecessor. Reads every byte once, and keeps one line in memory. */
export async function verifyAudit(parts: AsyncIterable<AuditPart>, known?: KnownHead): Promise<AuditVerdict> {
  const chain = new Chain(known);
  const lines = allLines(parts);
  for await (const placed of lines) {
    const fault = chain.add(placed);
    if (fault === undefined) continue;
    const shown = fault.kind === "missing" && (await isLater(lines, fault.line)) ? swapped(fault) : fault;
    return { ...chain.verdict(), fault: shown };
  }
  const fault = chain.missingHead();
  return { ...chain.verdict(), ...(fault === undefined ? {} : { fault }) };
}

class Chain {
  readonly #known: KnownHead | undefined;
  #head: AuditHead | undefined;
  #first: number | undefined;
  #lines = 0;
  #lost = 0;
  #tornBytes = 0;
  #hasKnownHead = false;

  constructor(known: KnownHead | undefined) {
    this.#known = known;
  }

  verdict(): AuditVerdict {
    return {
      lines: this.#lines,
      lost: this.#lost,
      ...(this.#first === undefined ? {} : { first: this.#first }),
      ...(this.#head === undefined ? {} : { head: this.#head }),
      ...(this.#tornBytes === 0 ? {} : { tornBytes: this.#tornBytes }),
    };
  }

  add({ bytes, file, position, isWhole }: Placed): AuditFault | undefined {
    const fault = this.#check(bytes, isWhole);
    return fault && { ...fault, file, position };
  }

  #check(bytes: Buffer, isWhole: boolean): AuditFault | undefined {
    const expected = (this.#head?.line ?? 0) + 1;
    if (this.#tornBytes > 0)
      return faultAt(expected, "changed", `line ${expected} does not end where the next file begins`);
    if (!isWhole) {
      this.#tornBytes = bytes.length;
      return undefined;
    }
    const line = readLine(bytes);
    if (line === undefined) return faultAt(expected, "changed", `line ${expected} is not an audit log line`);
    if (!line.fits) {
      // Its number may be what was changed.
      const number = this.#head === undefined ? line.n : expected;
      return faultAt(number, "changed", `line ${number} was changed: its hash does not match`);
    }
    const fault = this.#head === undefined ? firstFault(line) : nextFault(this.#head, line);
    if (fault === undefined) this.#take(line);
    return fault;
  }

  /** Undefined if the known head was found, or none is known. */
  missingHead(): AuditFault | undefined {
    if (this.#known === undefined || this.#hasKnownHead) return undefined;
    const last = this.#head?.line ?? 0;
    const { line } = this.#known;
    if (line === undefined)
      return faultAt(
        last + 1,
        "cutOff",
        `no line has the known hash: the log was truncated after line ${last}, or rewritten`,
      );
    if (line > last)
      return faultAt(
        last + 1,
        "cutOff",
        `the log was truncated: it ends with line ${last}, but line ${line} is known`,
      );
    if (line < (this.#first ?? 1))
      return faultAt(line, "missing", `line ${line} is in an earlier file, which is missing`);
    return faultAt(
      line,
      "rewritten",
      `line ${line} has a different hash than the known one: the log was rewritten`,
    );
  }

  #take({ n, hash, facts }: ReadLine): void {
    this.#first ??= n;
    this.#lines += 1;
    this.#head = { line: n, hash };
    if (facts["event"] === "gap" && typeof facts["lost"] === "number") this.#lost += facts["lost"];
    if (hash === this.#known?.hash && (this.#known.line ?? n) === n) this.#hasKnownHead = true;
  }
}

function faultAt(line: number, kind: AuditFault["kind"], message: string): AuditFault {
  return { kind, line, message };
}

function firstFault({ n, prev }: ReadLine): AuditFault | undefined {
  if (n !== 1 || prev === NO_HASH) return undefined;
  return faultAt(1, "replaced", "line 1 says that it continues another log");
}

function nextFault(head: AuditHead, { n, prev }: ReadLine): AuditFault | undefined {
  const expected = head.line + 1;
  if (n === expected) {
    if (prev === head.hash) return undefined;
    const message = `line ${head.line} was replaced: line ${n} continues a line with another hash`;
    return faultAt(head.line, "replaced", message);
  }
  if (n > expected) {
    const range = n - 1 === expected ? `line ${expected} is` : `lines ${expected} to ${n - 1} are`;
    return faultAt(expected, "missing", `${range} missing: line ${n} follows line ${head.line}`);
  }
  const message = `line ${n} follows line ${head.line}: a line was inserted or repeated there`;
  return faultAt(n, "inserted", message);
}

function swapped(fault: AuditFault): AuditFault {
  const message = `lines were swapped: line ${fault.line} comes later than it should`;
  return { ...fault, kind: "swapped", message };
}

async function isLater(lines: AsyncIterable<Placed>, number: number): Promise<boolean> {
  let left = SEARCHED_LINES;
  for await (const { bytes } of lines) {
    if (readLine(bytes)?.n === number) return true;
    left -= 1;
    if (left === 0) return false;
  }
  return false;
}

async function* allLines(parts: AsyncIterable<AuditPart>): AsyncGenerator<Placed> {
  for await (const { name, content } of parts) yield* linesOf(name, content);
}

/** If a line is too long, what follows does not matter, and may be endless. */
async function* linesOf(file: string, content: AsyncIterable<Buffer>): AsyncGenerator<Placed> {
  let rest = Buffer.alloc(0);
  let position = 0;
  for await (const piece of content) {
    let start = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", start)) {
      const bytes =
        rest.length === 0 ? piece.subarray(start, end) : Buffer.concat([rest, piece.subarray(start, end)]);
      position += 1;
      yield { file, position, bytes, isWhole: true };
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    rest = Buffer.concat([rest, piece.subarray(start)]);
    if (rest.length > MAX_LINE_BYTES) break;
  }
  if (rest.length > 0)
    yield { file, position: position + 1, bytes: rest, isWhole: rest.length > MAX_LINE_BYTES };
}

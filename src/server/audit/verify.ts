import { type AuditHead, MAX_LINE_BYTES, NO_HASH, readLine, type ReadLine } from "./chain.ts";

/** A head that is known from elsewhere. */
export interface KnownHead {
  readonly line?: number;
  readonly hash: string;
}

/** What is wrong with a line. */
type AuditFaultKind = "changed" | "missing" | "swapped" | "inserted" | "replaced" | "cutOff" | "rewritten";

/** The first line that does not fit. */
interface AuditFault {
  readonly kind: AuditFaultKind;
  readonly message: string;
  /** Number that the line has, or should have. */
  readonly line: number;
  readonly file?: string;
  /** Where in its file, from 1. */
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

/** How far a line is looked for that is not in its place. */
const SEARCHED_LINES = 10_000;

/** Checks each line against the one before it. Reads every byte once, and holds one line. */
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
  #isKnownFound = false;

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
    const expected = (this.#head?.line ?? 0) + 1;
    const place = { file, position };
    if (this.#tornBytes > 0)
      return {
        kind: "changed",
        line: expected,
        ...place,
        message: `line ${expected} does not end where the next file begins`,
      };
    if (!isWhole) {
      this.#tornBytes = bytes.length;
      return undefined;
    }
    const line = readLine(bytes);
    if (line === undefined)
      return {
        kind: "changed",
        line: expected,
        ...place,
        message: `what should be line ${expected} is not a line of an audit log`,
      };
    if (!line.fits) {
      // Its number may be what was changed.
      const number = this.#head === undefined ? line.n : expected;
      return {
        kind: "changed",
        line: number,
        ...place,
        message: `line ${number} was changed: its hash does not fit it`,
      };
    }
    const fault = this.#head === undefined ? firstFault(line) : nextFault(this.#head, line);
    if (fault !== undefined) return { ...fault, ...place };
    this.#take(line);
    return undefined;
  }

  /** Undefined if the known head was found, or none is known. */
  missingHead(): AuditFault | undefined {
    if (this.#known === undefined || this.#isKnownFound) return undefined;
    const last = this.#head?.line ?? 0;
    const { line } = this.#known;
    if (line === undefined)
      return {
        kind: "cutOff",
        line: last + 1,
        message: `no line has the known hash: the end after line ${last} was cut off, or the log was written anew`,
      };
    if (line > last)
      return {
        kind: "cutOff",
        line: last + 1,
        message: `the end was cut off: the log ends with line ${last}, and line ${line} is known`,
      };
    if (line < (this.#first ?? 1))
      return { kind: "missing", line, message: `line ${line} is in an earlier file, which is not there` };
    return {
      kind: "rewritten",
      line,
      message: `line ${line} has another hash than the known one: the log was written anew`,
    };
  }

  #take({ n, hash, facts }: ReadLine): void {
    this.#first ??= n;
    this.#lines += 1;
    this.#head = { line: n, hash };
    if (facts["event"] === "gap" && typeof facts["lost"] === "number") this.#lost += facts["lost"];
    if (hash === this.#known?.hash && (this.#known.line ?? n) === n) this.#isKnownFound = true;
  }
}

type Fault = Pick<AuditFault, "kind" | "line" | "message">;

function firstFault({ n, prev }: ReadLine): Fault | undefined {
  if (n !== 1 || prev === NO_HASH) return undefined;
  return { kind: "replaced", line: 1, message: "line 1 says that it continues another log" };
}

function nextFault(head: AuditHead, { n, prev }: ReadLine): Fault | undefined {
  const expected = head.line + 1;
  if (n === expected) {
    if (prev === head.hash) return undefined;
    return {
      kind: "replaced",
      line: head.line,
      message: `line ${head.line} was replaced: line ${n} continues a line with another hash`,
    };
  }
  if (n > expected) {
    const range = n - 1 === expected ? `line ${expected} is` : `lines ${expected} to ${n - 1} are`;
    return {
      kind: "missing",
      line: expected,
      message: `${range} missing: line ${n} follows line ${head.line}`,
    };
  }
  return {
    kind: "inserted",
    line: n,
    message: `line ${n} follows line ${head.line}: a line was inserted or repeated there`,
  };
}

function swapped(fault: AuditFault): AuditFault {
  return {
    ...fault,
    kind: "swapped",
    message: `lines were swapped: line ${fault.line} comes later than it should`,
  };
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

/** What is too long for a line does not fit whatever follows, which may be without end. */
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

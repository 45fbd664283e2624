import { isPlain, parseLine, PLAIN, type Span, type Style } from "./ansi.ts";

export type Stream = "stdout" | "stderr" | "pty";

/** A line of output, or a place where output is missing. */
export interface Line {
  readonly kind: "text" | "gap";
  /** Counts lines that arrived, from 1; a gap has the number of the line that follows. */
  readonly number: number;
  readonly stream: Stream;
  /** Number of the event that began it. */
  readonly seq: number;
  readonly text: string;
  readonly spans: readonly Span[] | undefined;
  /** Continues the line before, which was too long for one. */
  readonly continues: boolean;
}

/** Lines that are kept and dropped together. */
export interface Block {
  /** Place of its first line among all that ever arrived. */
  readonly first: number;
  readonly lines: readonly Line[];
  /** Changes with every change of a line. */
  readonly version: number;
}

export interface StoreLimits {
  readonly maxLines: number;
  readonly maxCharacters: number;
}

const BLOCK_LINES = 512;
/** Characters of a line beyond which it continues on another. */
const MAX_LINE = 8192;
const DEFAULT_LIMITS: StoreLimits = { maxLines: 200_000, maxCharacters: 32 * 1024 * 1024 };

interface OpenLine {
  raw: string;
  readonly index: number;
  /** Its initial style. */
  readonly style: Style;
}

interface StreamState {
  readonly stream: Stream;
  readonly decoder: TextDecoder;
  style: Style;
  open: OpenLine | undefined;
}

interface FilledBlock {
  readonly first: number;
  readonly lines: Line[];
  characters: number;
  version: number;
}

/** The lines of a process's output, as many as memory allows: the oldest are dropped, and counted. */
export class LineStore {
  readonly #limits: StoreLimits;
  readonly #streams = new Map<Stream, StreamState>();
  #blocks: FilledBlock[] = [];
  #characters = 0;
  #end = 0;
  #numbers = 0;

  constructor(limits: StoreLimits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  /** Place of the first line that is kept; as many were dropped. */
  get first(): number {
    return this.#blocks[0]?.first ?? this.#end;
  }

  /** One past the place of the last line. */
  get end(): number {
    return this.#end;
  }

  /** The number that the last line has. */
  get lastNumber(): number {
    return this.#numbers;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  at(index: number): Line | undefined {
    const block = this.#blockOf(index);
    return block?.lines[index - block.first];
  }

  /** The place of the line with a number, or of the nearest one that is kept. */
  indexOfNumber(number: number): number {
    let [low, high] = [this.first, this.#end - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle)!.number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds output. Characters may be split anywhere. */
  append(stream: Stream, bytes: Uint8Array, seq: number): void {
    const state = this.#stateOf(stream);
    this.#add(state, state.decoder.decode(bytes, { stream: true }), seq);
  }

  /** Adds a place where output is missing. */
  appendGap(text: string, seq: number): void {
    for (const state of this.#streams.values()) state.open = undefined;
    this.#push({
      kind: "gap",
      number: this.#numbers + 1,
      stream: "stdout",
      seq,
      text,
      spans: undefined,
      continues: false,
    });
  }

  /** Replaces the text of a gap, when more is known about it. */
  updateGap(index: number, text: string): void {
    if (this.at(index)?.kind === "gap") this.#replace(index, { text, spans: undefined });
  }

  #add(state: StreamState, text: string, seq: number): void {
    // Most output needs no parsing except for its line endings.
    const isSimple = isPlain(text.replaceAll("\n", ""));
    let from = 0;
    while (from < text.length) {
      const newline = text.indexOf("\n", from);
      const end = newline < 0 ? text.length : newline;
      this.#extend(state, text.slice(from, end), seq, isSimple);
      if (newline >= 0) {
        if (state.open === undefined) this.#begin(state, "", seq, false);
        state.open = undefined;
      }
      from = end + 1;
    }
  }

  #extend(state: StreamState, part: string, seq: number, isSimple: boolean): void {
    let rest = part;
    while (rest !== "") {
      const room = MAX_LINE - (state.open?.raw.length ?? 0);
      if (room <= 0) {
        state.open = undefined;
        this.#begin(state, "", seq, true);
        continue;
      }
      const piece = rest.slice(0, room);
      rest = rest.slice(room);
      if (state.open === undefined) this.#begin(state, piece, seq, false, isSimple);
      else {
        // A line that grows is read again from its beginning.
        state.open.raw += piece;
        const parsed = parseLine(state.open.raw, state.open.style);
        state.style = parsed.style;
        this.#replace(state.open.index, parsed);
      }
    }
  }

  #begin(state: StreamState, raw: string, seq: number, continues: boolean, isSimple = false): void {
    const { stream, style } = state;
    const parsed =
      isSimple && style === PLAIN ? { text: raw, spans: undefined, style } : parseLine(raw, style);
    state.style = parsed.style;
    const { text, spans } = parsed;
    if (!continues) this.#numbers++;
    state.open = { raw, index: this.#end, style };
    this.#push({ kind: "text", number: this.#numbers, stream, seq, text, spans, continues });
  }

  /** Gives a line another text, unless it was dropped. */
  #replace(index: number, { text, spans }: Pick<Line, "text" | "spans">): void {
    const block = this.#blockOf(index);
    const line = block?.lines[index - block.first];
    if (block === undefined || line === undefined) return;
    const added = text.length - line.text.length;
    block.characters += added;
    this.#characters += added;
    block.lines[index - block.first] = { ...line, text, spans };
    block.version++;
  }

  #push(line: Line): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.lines.length === BLOCK_LINES) {
      block = { first: this.#end, lines: [], characters: 0, version: 0 };
      this.#blocks.push(block);
    }
    block.lines.push(line);
    block.version++;
    const size = line.text.length + (line.spans?.length ?? 0) * 16;
    block.characters += size;
    this.#characters += size;
    this.#end++;
    const { maxLines, maxCharacters } = this.#limits;
    while (
      this.#blocks.length > 1 &&
      (this.#end - this.first - this.#blocks[0]!.lines.length >= maxLines || this.#characters > maxCharacters)
    )
      this.#characters -= this.#blocks.shift()!.characters;
  }

  #blockOf(index: number): FilledBlock | undefined {
    if (index < this.first || index >= this.#end) return undefined;
    // All but the last are full.
    return this.#blocks[Math.floor((index - this.first) / BLOCK_LINES)];
  }

  #stateOf(stream: Stream): StreamState {
    let state = this.#streams.get(stream);
    if (state === undefined) {
      state = { stream, decoder: new TextDecoder(), style: PLAIN, open: undefined };
      this.#streams.set(stream, state);
    }
    return state;
  }
}

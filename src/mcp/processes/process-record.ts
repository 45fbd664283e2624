import { createDeferred } from "../../base/deferred.ts";
import type { ExecToolEvent } from "../../client/tools/events.ts";
import type { ToolStream } from "../../client/tools/tool-host.ts";
import { CharacterJoiner } from "../../client/process/utf8-boundary.ts";
import { type OutputBudget, OutputLog } from "./output-log.ts";

type Begin = Extract<ExecToolEvent, { readonly type: "begin" }>;

/** Characters of its last line that a user of the client sees. */
const MAX_LINE_BYTES = 200;

/** A process, running or ended, with its newest output. */
export class ProcessRecord {
  readonly sessionId: number;
  readonly processId: string;
  readonly cwd: string | undefined;
  readonly log: OutputLog;
  readonly #startedAt = performance.now();
  readonly #joiners = new Map<ToolStream, CharacterJoiner>();
  readonly #listeners = new Set<() => void>();
  readonly #ended = createDeferred<void>();
  /** Resolves when nothing more will come. */
  readonly ended = this.#ended.promise;
  command = "";
  tty = false;
  exitCode: number | undefined;
  isRunning = true;
  /** How far `wait_for` has searched the output. */
  searchedTo = 0;
  /** Where the output of the next call begins. */
  reportedTo = 0;
  #endedAt: number | undefined;

  constructor({ sessionId, processId, cwd }: Begin, budget: OutputBudget) {
    this.log = new OutputLog(budget);
    this.sessionId = sessionId;
    this.processId = processId;
    this.cwd = cwd;
  }

  /** From its start to its end, or to now. */
  get ageMs(): number {
    return (this.#endedAt ?? performance.now()) - this.#startedAt;
  }

  get lastLine(): string {
    const { bytes } = this.log.read(this.log.end - MAX_LINE_BYTES, MAX_LINE_BYTES);
    return (
      new TextDecoder()
        .decode(bytes)
        .trimEnd()
        .split(/[\r\n]/)
        .at(-1) ?? ""
    );
  }

  receive(event: ExecToolEvent): void {
    if (event.type === "output_delta") this.#add(this.#joiner(event.stream).push(event.bytes));
    else if (event.type === "end") {
      for (const joiner of this.#joiners.values()) this.#add(joiner.flush());
      this.exited(event.exitCode);
      this.#ended.resolve();
    }
  }

  /** It has exited, even if something keeps its output open. */
  exited(exitCode: number | undefined): void {
    this.isRunning = false;
    this.#endedAt ??= performance.now();
    this.exitCode ??= exitCode;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after every change. Returns a function that removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #add(bytes: Uint8Array): void {
    this.log.push(bytes);
    for (const listener of this.#listeners) listener();
  }

  #joiner(stream: ToolStream): CharacterJoiner {
    const known = this.#joiners.get(stream);
    if (known !== undefined) return known;
    const joiner = new CharacterJoiner();
    this.#joiners.set(stream, joiner);
    return joiner;
  }
}

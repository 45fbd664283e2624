import { createDeferred } from "../../base/deferred.ts";
import { HeadTail, omittedLine } from "../process/head-tail.ts";
import { CharacterJoiner } from "../process/utf8-boundary.ts";
import type { ExecToolEvent } from "./events.ts";
import type { ToolProcess, ToolProcessEvent, ToolStream } from "./tool-host.ts";
import { cutToTokens, type TokenCut } from "./tool-result.ts";

/** Output that a model has not read yet. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** Part of the whole output that the `end` event repeats. */
const MAX_AGGREGATED_BYTES = 64 * 1024;

/** Facts about a process that are known at its start. */
export interface ExecSessionFacts {
  readonly id: number;
  readonly callId: string;
  readonly process: ToolProcess;
  readonly argv: readonly string[];
  /** The command line, shortened if it is long. */
  readonly command: string;
  readonly cwd: string | undefined;
  readonly tty: boolean;
}

/**
 * One process as a model sees it. Follows its events to the end, whether or not a call waits, and keeps a bounded part
 * of the output until it is taken.
 */
export class ExecSession {
  readonly facts: ExecSessionFacts;
  /** Number of calls that currently use it. */
  calls = 0;
  readonly #emit: (event: ExecToolEvent) => void;
  readonly #startedAt = performance.now();
  readonly #pending = new HeadTail({ maxBytes: MAX_PENDING_BYTES });
  readonly #aggregated = new HeadTail({ maxBytes: MAX_AGGREGATED_BYTES });
  readonly #joiners = new Map<ToolStream, CharacterJoiner>();
  readonly #done = createDeferred<void>();
  /** Resolves when nothing more will come: the output ended, or the process was lost. */
  readonly done = this.#done.promise;
  readonly #following = new AbortController();
  #exit: { readonly exitCode: number | null } | undefined;
  #failure: string | undefined;
  #lostEvents = 0;
  #sandboxDenied = false;
  #released = false;
  #ended = false;

  constructor(facts: ExecSessionFacts, emit: (event: ExecToolEvent) => void) {
    this.facts = facts;
    this.#emit = emit;
    const { id: sessionId, callId, process, argv, cwd } = facts;
    emit({ type: "begin", callId, sessionId, processId: process.id, argv, cwd });
    void this.#follow();
  }

  /** The process has exited or was lost; output may still arrive. */
  get over(): boolean {
    return this.#ended || this.#exit !== undefined;
  }

  /** Something that outlived the process keeps its output open. */
  get outputHeld(): boolean {
    return this.#exit !== undefined && !this.#ended;
  }

  get exitCode(): number | undefined {
    return this.#exit?.exitCode ?? undefined;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get pendingBytes(): number {
    return this.#pending.totalBytes;
  }

  get ageMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** Output that was not taken yet, with notes about it. */
  take(maxTokens: number): { readonly cut: TokenCut; readonly notes: readonly string[] } {
    const cut = cutToTokens(this.#pending, maxTokens);
    this.#pending.clear();
    const notes: string[] = [];
    if (this.#lostEvents > 0)
      notes.push(`Some output was lost with the connection (${this.#lostEvents} pieces or more).`);
    if (this.#sandboxDenied) notes.push("The sandbox blocked something that the command tried.");
    this.#lostEvents = 0;
    this.#sandboxDenied = false;
    return { cut, notes };
  }

  /** No more calls will arrive: the exit is enough of an end. */
  release(): void {
    this.#released = true;
    if (this.#exit !== undefined) this.#end();
  }

  /** Ends here, whatever the process does. */
  abandon(reason: string): void {
    this.#end(reason);
  }

  async #follow(): Promise<void> {
    try {
      for await (const event of this.facts.process.events({ signal: this.#following.signal })) {
        if (!this.#ended) this.#hear(event);
        if (this.#ended) return;
      }
      this.#end("The events of the process stopped");
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error));
    }
  }

  #hear(event: ToolProcessEvent): void {
    switch (event.kind) {
      case "output":
        this.#emit({
          type: "output_delta",
          callId: this.facts.callId,
          stream: event.stream,
          bytes: event.bytes,
        });
        this.#keep(this.#joiner(event.stream).push(event.bytes));
        return;
      case "exited":
        this.#exit = { exitCode: event.exitCode };
        this.#sandboxDenied = event.sandboxDenied ?? false;
        if (this.#released) this.#end();
        return;
      case "gap":
        this.#lostEvents += event.toSeq - event.fromSeq + 1;
        return;
      case "closed":
        this.#end(this.#exit === undefined ? "The process's exit was not reported" : undefined);
        return;
      case "failed":
        this.#end(event.message);
    }
  }

  /** A piece of the other stream, or a call that takes the output, may split a character. */
  #joiner(stream: ToolStream): CharacterJoiner {
    const known = this.#joiners.get(stream);
    if (known !== undefined) return known;
    const joiner = new CharacterJoiner();
    this.#joiners.set(stream, joiner);
    return joiner;
  }

  #keep(bytes: Uint8Array): void {
    this.#pending.push(bytes);
    this.#aggregated.push(bytes);
  }

  #end(failure?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    for (const joiner of this.#joiners.values()) this.#keep(joiner.flush());
    const { exitCode } = this;
    this.#emit({
      type: "end",
      callId: this.facts.callId,
      ...(exitCode === undefined ? {} : { exitCode }),
      durationMs: this.ageMs,
      output: this.#aggregated.text({ marker: omittedLine }),
      omittedBytes: this.#aggregated.omittedBytes,
      ...(failure === undefined ? {} : { failure }),
    });
    this.#aggregated.clear();
    this.#following.abort();
    this.#done.resolve();
  }
}

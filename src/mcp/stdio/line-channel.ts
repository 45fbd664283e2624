import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { createDeferred } from "../../base/deferred.ts";
import { messageOf } from "../../base/errors.ts";
import { joinBytes } from "../../base/join-bytes.ts";
import { parseJson } from "../../protocol/json-scan.ts";
import { LongLine } from "./long-line.ts";

const NEWLINE = 10;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** More than a file that a model writes. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Answers that the client has not read. Nothing more is read from it until it has. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Pieces of a line that are joined at once, so that single bytes do not cost a hundred each. */
const MAX_PIECES = 1024;

/**
 * One message per line. A line that cannot be used is answered with an error, and the connection lives on: the SDK's own
 * transport closes it if a line is too long, answers nothing if it is not JSON, and parses any number of brackets.
 */
export class LineChannel implements Transport {
  onmessage?: Transport["onmessage"];
  onerror?: Transport["onerror"];
  onclose?: Transport["onclose"];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #maxLineBytes: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #long: LongLine | undefined;
  #isClosed = false;
  readonly #closed = createDeferred<void>();
  /** Resolves when the client has gone, or the channel was closed. */
  readonly closed = this.#closed.promise;

  constructor(input: Readable, output: Writable, maxLineBytes: number = MAX_LINE_BYTES) {
    this.#input = input;
    this.#output = output;
    this.#maxLineBytes = maxLineBytes;
  }

  start(): Promise<void> {
    const end = (): void => void this.close();
    this.#input
      .on("data", (chunk: Buffer) => this.#receive(chunk))
      .on("end", end)
      .on("close", end);
    for (const stream of [this.#input, this.#output])
      stream.on("error", (error) => {
        this.onerror?.(error);
        end();
      });
    this.#output.on("drain", () => this.#input.resume()).on("close", end);
    return Promise.resolve();
  }

  /** Resolves when the system has taken the message. */
  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) reject(new Error("the client has closed the connection"));
      else
        this.#output.write(`${JSON.stringify(message)}\n`, (error) => {
          if (error) reject(error);
          else resolve();
        });
      if (this.#output.writableLength > MAX_QUEUED_BYTES) this.#input.pause();
    });
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#input.destroy();
      this.onclose?.();
      this.#closed.resolve();
    }
    return Promise.resolve();
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0 && !this.#isClosed; end = chunk.indexOf(NEWLINE, start)) {
      this.#append(chunk.subarray(start, end));
      start = end + 1;
      this.#endLine();
    }
    this.#append(chunk.subarray(start));
  }

  #append(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#long === undefined && this.#bytes > this.#maxLineBytes) {
      this.#long = new LongLine();
      for (const earlier of this.#pieces.splice(0)) this.#long.push(earlier);
    }
    if (this.#long !== undefined) {
      this.#long.push(piece);
      return;
    }
    this.#pieces.push(piece);
    if (this.#pieces.length === MAX_PIECES) this.#pieces = [joinBytes(this.#pieces)];
  }

  #endLine(): void {
    const long = this.#long;
    const bytes = this.#bytes;
    const line = joinBytes(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    this.#long = undefined;
    if (long === undefined) {
      if (bytes > 0) this.#deliver(line);
    } else
      this.#refuse(
        long.requestId,
        INVALID_REQUEST,
        `the message has ${bytes} bytes, and the limit is ${this.#maxLineBytes}; send less at once`,
      );
  }

  #deliver(line: Uint8Array): void {
    let value: unknown;
    try {
      if (!isUtf8(line)) throw new Error("the line is not UTF-8");
      const text = new TextDecoder().decode(line);
      if (text.trim() === "") return;
      ({ value } = parseJson(text));
    } catch (error) {
      this.#refuse(undefined, PARSE_ERROR, `not JSON that can be read: ${messageOf(error)}`);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      const { id } = (value ?? {}) as { id?: unknown };
      const known = typeof id === "string" || typeof id === "number" ? id : undefined;
      this.#refuse(known, INVALID_REQUEST, "not a message of JSON-RPC 2.0; batches are not supported");
      return;
    }
    this.onmessage?.(message);
  }

  #refuse(id: string | number | undefined, code: number, message: string): void {
    // JSON-RPC wants null for an unknown id; the SDK's type has only its absence.
    const answer = { jsonrpc: "2.0", id: id ?? null, error: { code, message } } as unknown as JSONRPCMessage;
    this.send(answer).catch((error: unknown) => this.onerror?.(error as Error));
  }
}

import type { Readable, Writable } from "node:stream";
import { createDeferred } from "../../base/deferred.ts";
import { type CodexHome, findCodexHome } from "../../capabilities/host/codex-home.ts";
import type { WireError } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { toWire } from "../../rpc/error-wire.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import { JsonText, JsonParts } from "../../rpc/json-text.ts";
import { FULL_RIGHTS } from "../access/rights.ts";
import { ByteBudget } from "../wire/byte-budget.ts";
import type { FileClient } from "./file-client.ts";
import { Locations } from "./locations.ts";
import { environmentConfigHandlers } from "./environment-config-handlers.ts";
import { discoveryHandlers } from "./discovery-handlers.ts";
import { fileHandlers } from "./file-handlers.ts";
import {
  type HelperCall,
  type HelperReady,
  type HelperSettings,
  identityOf,
} from "./confined/helper-messages.ts";
import { type Frame, readFrames, writeFrame } from "../wire/frames.ts";

type Handler = (client: FileClient, params: unknown, attachment?: Attachment) => unknown;

/**
 * The file helper: answers file methods for the server on the other end, with the server's own handlers. The
 * surrounding sandbox limits what it can reach. Resolves when the server has closed its end and every call is done.
 */
export async function serveFiles(input: Readable, output: Writable): Promise<void> {
  await new FileService(input, output).ended;
}

class FileService {
  readonly #ended = createDeferred<void>();
  readonly ended = this.#ended.promise;
  readonly #output: Writable;
  readonly #abort = new AbortController();
  #client: FileClient | undefined;
  #handlers: ReadonlyMap<string, Handler> = new Map();
  #running = 0;
  #inputEnded = false;

  constructor(input: Readable, output: Writable) {
    this.#output = output;
    readFrames(input, { frame: (frame) => this.#take(frame) });
    input.on("close", () => {
      this.#inputEnded = true;
      this.#abort.abort();
      this.#endIfDone();
    });
    // The server is gone, so the remaining answers are not needed.
    output.on("error", () => this.#ended.resolve());
  }

  #take({ kind, id, text, bytes }: Frame): undefined {
    if (kind === "ping") writeFrame(this.#output, "pong");
    else if (kind === "ready") this.#begin(JSON.parse(text) as HelperSettings);
    else if (kind === "request") this.#run(id, JSON.parse(text) as HelperCall, bytes);
  }

  #begin({ fsRoots, mounts, codexHome, userDirectory, limits }: HelperSettings): void {
    const { signal } = this.#abort;
    this.#client = {
      signal,
      // The server has checked them.
      rights: FULL_RIGHTS,
      budget: new ByteBudget(limits).connect({
        queuedBytes: () => this.#output.writableLength,
        ping: () => false,
      }),
      notify: (method, params) =>
        writeFrame(this.#output, "notification", { text: JSON.stringify({ method, params }) }),
      drained: () => this.#drained(),
    };
    const locations = Locations.inside(fsRoots);
    const home = homeInside(codexHome, userDirectory);
    const handlers = {
      ...fileHandlers(locations),
      ...discoveryHandlers(home, locations),
      ...environmentConfigHandlers(home, locations),
    };
    // The server has checked the parameters.
    this.#handlers = new Map(Object.entries(handlers as unknown as Record<string, Handler>));
    const ready: HelperReady = { mounts: mounts.map(identityOf) };
    writeFrame(this.#output, "ready", { text: JSON.stringify(ready) });
  }

  #run(id: number, { method, params, attached }: HelperCall, bytes: readonly Buffer[]): void {
    const attachment = attached ? { bytes: Buffer.concat(bytes), release: () => {} } : undefined;
    this.#running += 1;
    let result: unknown;
    try {
      result = this.#handlers.get(method)!(this.#client!, params, attachment);
    } catch (error) {
      this.#fail(id, error);
      return;
    }
    // Calls here do not wait for each other.
    if (result instanceof DeferredAnswer) result = result.promise;
    if (!(result instanceof Promise)) this.#answer(id, result);
    else
      result.then(
        (value: unknown) => this.#answer(id, value),
        (error: unknown) => this.#fail(id, error),
      );
  }

  #answer(id: number, result: unknown): void {
    if (result instanceof JsonParts) {
      writeFrame(this.#output, "result", { id, bytes: result.parts });
      // An empty write, to learn when everything before it is flushed.
      this.#output.write("", () => result.release?.());
    } else {
      const json = result instanceof JsonText ? result.text : JSON.stringify(result);
      writeFrame(this.#output, "result", { id, bytes: [Buffer.from(json)] });
    }
    this.#done();
  }

  #fail(id: number, error: unknown): void {
    let wire: WireError | undefined = toWire(error);
    if (wire === undefined) {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      wire = { code: RpcCode.internal, message: "internal error in the file helper" };
    }
    writeFrame(this.#output, "failure", { id, text: JSON.stringify(wire) });
    this.#done();
  }

  #done(): void {
    this.#running -= 1;
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#inputEnded && this.#running === 0) this.#ended.resolve();
  }

  async #drained(): Promise<void> {
    if (this.#output.writableNeedDrain)
      await new Promise<void>((resolve) => this.#output.once("drain", resolve));
  }
}

/** A configured home that the sandbox hides is empty, not missing. */
function homeInside(codexHome: string | undefined, userDirectory: string): CodexHome {
  const home = findCodexHome({ CODEX_HOME: codexHome }, userDirectory);
  const locate = (): string => {
    try {
      return home.locate();
    } catch (error) {
      if (codexHome === undefined) throw error;
      return codexHome;
    }
  };
  return { userDirectory, locate };
}

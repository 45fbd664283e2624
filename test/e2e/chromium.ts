import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { withDeadline } from "../fault/deadline.ts";

const DEADLINE_MS = 30_000;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** A real browser without a window, driven by its DevTools protocol. Every name ending in `.example` is this machine. */
export class Chromium implements AsyncDisposable {
  readonly #webSocket: WebSocket;
  readonly #end: () => Promise<void>;
  readonly #answers = new Map<number, (message: Message) => void>();
  /** What documents hold whose addresses are answered by somebody else. */
  readonly #documents = new Map<string, string>();
  #requests = 0;

  static async launch(): Promise<Chromium> {
    const profile = await mkdtemp("/var/tmp/exec-server-chromium-");
    const child = spawn(
      "chromium",
      [
        "--headless=new",
        // Root cannot have a sandbox.
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--remote-debugging-port=0",
        `--user-data-dir=${profile}`,
        "--host-resolver-rules=MAP *.example 127.0.0.1",
        // Newer browsers ask before a page reaches this machine. Not all do, so it must not be what protects it.
        "--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessSendPreflights,BlockInsecurePrivateNetworkRequests",
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } },
    );
    const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const end = async (): Promise<void> => {
      child.kill("SIGKILL");
      await exited;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    };
    try {
      const url = await withDeadline(
        new Promise<string>((resolve, reject) => {
          child.once("error", reject);
          createInterface({ input: child.stderr }).on("line", (line) => {
            const [, found] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
            if (found !== undefined) resolve(found);
          });
        }),
        DEADLINE_MS,
        () => "the browser",
      );
      const webSocket = new WebSocket(url);
      await new Promise((resolve, reject) => webSocket.once("open", resolve).once("error", reject));
      return new Chromium(webSocket, end);
    } catch (error) {
      await end();
      throw error;
    }
  }

  constructor(webSocket: WebSocket, end: () => Promise<void>) {
    this.#webSocket = webSocket;
    this.#end = end;
    webSocket.on("message", (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Message));
  }

  /**
   * Opens a page and evaluates a script in it, whose promise is awaited. With `html`, that is the document at the
   * address: the page has its origin, but only what it asks for afterwards reaches the server there.
   */
  async evaluate(url: string, script: string, html?: string): Promise<unknown> {
    if (html !== undefined) this.#documents.set(url, html);
    const { targetId } = await this.#call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#call("Target.attachToTarget", { targetId, flatten: true });
    const session = sessionId as string;
    await this.#call("Fetch.enable", { patterns: [{ urlPattern: url }] }, session);
    await this.#call("Page.enable", {}, session);
    const { errorText } = await this.#call("Page.navigate", { url }, session);
    if (errorText !== undefined) throw new Error(`${url}: ${JSON.stringify(errorText)}`);
    const { result, exceptionDetails } = await this.#call(
      "Runtime.evaluate",
      { expression: script, awaitPromise: true, returnByValue: true },
      session,
    );
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value?: unknown }).value;
  }

  async #call(method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> {
    this.#requests += 1;
    const id = this.#requests;
    const answered = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    this.#webSocket.send(JSON.stringify({ id, method, params, sessionId }));
    const { error, result = {} } = await withDeadline(answered, DEADLINE_MS, () => method);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #receive({ id, method, params = {}, sessionId, ...rest }: Message): void {
    if (id !== undefined) this.#answers.get(id)?.(rest);
    if (method !== "Fetch.requestPaused") return;
    const { requestId, request } = params as { requestId: string; request: { url: string } };
    const html = this.#documents.get(request.url);
    const answer =
      html === undefined
        ? this.#call("Fetch.continueRequest", { requestId }, sessionId)
        : this.#call(
            "Fetch.fulfillRequest",
            {
              requestId,
              responseCode: 200,
              responseHeaders: [{ name: "content-type", value: "text/html" }],
              body: Buffer.from(html).toString("base64"),
            },
            sessionId,
          );
    answer.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#webSocket.terminate();
    await this.#end();
  }
}

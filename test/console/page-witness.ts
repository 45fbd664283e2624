import type { Page, WebSocket } from "playwright-core";
import { withDeadline } from "../fault/deadline.ts";

const MAX_MESSAGES = 40;
const MAX_MESSAGE_CHARACTERS = 160;
/** Asked every few seconds, so that soon nothing else would be left. */
const REGULAR = new Set(["environment/status", "process/list", "server/status"]);
const MAX_PROBLEMS = 20;
const MAX_TEXT_CHARACTERS = 1500;
/** A page that does not answer has no frames, or its main thread is busy: that is an answer, too. */
const ANSWER_MS = 5_000;

/** Remembers what happens to a page, so that a test that fails can say what the page was doing. */
export class PageWitness {
  readonly #page: Page;
  readonly #problems: string[] = [];
  readonly #messages: string[] = [];
  /** Methods of the requests, by connection and id. */
  readonly #unanswered = new Map<string, string>();
  #sockets = 0;

  constructor(page: Page) {
    this.#page = page;
    page.on("websocket", (socket) => this.#watch(socket));
    page.on("requestfailed", (request) =>
      this.note(`request failed: ${request.url()}: ${request.failure()?.errorText}`),
    );
  }

  note(problem: string): void {
    this.#problems.push(problem);
    if (this.#problems.length > MAX_PROBLEMS) this.#problems.shift();
  }

  /** The page as it is now, and what led to it. Never rejects. */
  async describe(): Promise<string> {
    const state = await withDeadline(
      this.#page.evaluate(stateOfPage, MAX_TEXT_CHARACTERS),
      ANSWER_MS,
      () => "an answer",
    )
      .then((shown) => JSON.stringify(shown, null, 2))
      .catch((error: unknown) => `the page says nothing: ${String(error)}`);
    return [
      `The page ${this.#page.url()}`,
      state,
      `errors: ${this.#problems.join("\n  ") || "none"}`,
      `unanswered: ${Array.from(this.#unanswered, ([key, method]) => `${method} (${key})`).join(", ") || "none"}`,
      `last of the messages on ${this.#sockets} connections:`,
      ...this.#messages.map((message) => `  ${message}`),
    ].join("\n");
  }

  #watch(socket: WebSocket): void {
    this.#sockets += 1;
    const number = this.#sockets;
    const note = (text: string): void => {
      this.#messages.push(`${number} ${text}`);
      if (this.#messages.length > MAX_MESSAGES) this.#messages.shift();
    };
    const methods = this.#unanswered;
    socket.on("framesent", ({ payload }) => {
      const { id, method, text } = headOf(payload);
      if (id !== undefined) methods.set(`${number} ${id}`, method);
      if (!REGULAR.has(method)) note(`> ${text}`);
    });
    socket.on("framereceived", ({ payload }) => {
      const { id, text } = headOf(payload);
      const key = `${number} ${id}`;
      const method = methods.get(key) ?? "";
      methods.delete(key);
      if (!REGULAR.has(method)) note(`< ${method} ${text}`);
    });
    socket.on("socketerror", (error) => note(`failed: ${error}`));
    socket.on("close", () => note("closed"));
  }
}

interface MessageHead {
  readonly id: string | undefined;
  readonly method: string;
  readonly text: string;
}

function headOf(payload: string | Buffer): MessageHead {
  const text = payload.slice(0, MAX_MESSAGE_CHARACTERS).toString();
  return { id: /"id":(\d+)/.exec(text)?.[1], method: /"method":"([^"]+)/.exec(text)?.[1] ?? "", text };
}

/** Runs in the page. */
async function stateOfPage(mostText: number): Promise<unknown> {
  const isDrawn = await Promise.race([
    new Promise((resolve) => requestAnimationFrame(() => resolve(true))),
    new Promise((resolve) => setTimeout(() => resolve(false), 1000)),
  ]);
  const textsOf = (selector: string): string[] =>
    Array.from(document.querySelectorAll<HTMLElement>(selector), (one) => one.innerText).filter(Boolean);
  return {
    isDrawn,
    visibility: document.visibilityState,
    hasFocus: document.hasFocus(),
    loading: document.readyState,
    fonts: document.fonts.status,
    connection: document.querySelector(".rail-state")?.className ?? "none",
    told: textsOf("[role=status], [role=alert], [role=dialog]"),
    terminals: Array.from(document.querySelectorAll<HTMLElement>(".term-pane"), (pane) => ({
      name: pane.querySelector("[data-keys]")?.ariaLabel,
      state: pane.dataset["state"],
      place: `${pane.clientWidth}x${pane.clientHeight}`,
      rows: pane.querySelectorAll(".xterm-rows > div").length,
      text: pane.querySelector(".xterm-rows")?.textContent?.replaceAll("\u00a0", " ").trim().slice(-200),
    })),
    text: document.body.innerText.slice(0, mostText),
  };
}

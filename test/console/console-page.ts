import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect, type TestContext } from "vitest";
import { PageWitness } from "./page-witness.ts";

const DEADLINE_MS = 60_000;
/** What a browser says about a connection that was cut on purpose. */
const NETWORK_ERROR = /ERR_CONNECTION_|ERR_EMPTY_RESPONSE|ERR_SOCKET_|WebSocket connection to/;
const DOWNLOAD = /^a download: blob:/;
const OTHER_TAB =
  /^another page: |^request to another host: (?:http|ws):\/\/(?:127\.0\.0\.1|[0-9a-f]{40}\.localhost):\d+\//;
const REFUSED = /responded with a status of 4\d\d/;

export interface PageOptions extends BrowserContextOptions {
  /** Lost connections are part of the test. */
  readonly losesConnections?: boolean;
  /** So are answers that refuse something. */
  readonly refused?: boolean;
  /** So are downloads. */
  readonly downloads?: boolean;
  /** So are tabs that it opens, with what they ask other hosts for. */
  readonly opensTabs?: boolean;
}

const openPages = new Set<ConsolePage>();
/** What those that are closed showed last. */
let closedPages: string[] = [];

/** Adds to the error of a failed test what its pages showed: a wait that ran out says only what it waited for. */
export async function reportPages({ task }: TestContext): Promise<void> {
  const closed = closedPages;
  closedPages = [];
  const [error] = task.result?.state === "fail" ? (task.result.errors ?? []) : [];
  if (error === undefined) return;
  const open = await Promise.all(Array.from(openPages, (page) => page.describe()));
  const shown = [...closed, ...open].map((page) => `\n\n${page}`).join("");
  error.message += shown;
  if (error.stack !== undefined) error.stack += shown;
}

/**
 * A tab of a browser that shares nothing with other tabs. Errors of the page, violations of its policy and requests to
 * other hosts are collected, and `expectClean` finds none.
 */
export class ConsolePage implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #problems: string[] = [];
  readonly #witness: PageWitness;
  readonly #expected: readonly RegExp[];

  static async open(browser: Browser, url: string, options: PageOptions = {}): Promise<ConsolePage> {
    const {
      losesConnections = false,
      refused = false,
      downloads = false,
      opensTabs = false,
      ...contextOptions
    } = options;
    const expected = [
      ...(losesConnections ? [NETWORK_ERROR] : []),
      ...(refused ? [REFUSED] : []),
      ...(downloads ? [DOWNLOAD] : []),
      ...(opensTabs ? [OTHER_TAB] : []),
    ];
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: "reduce",
      ...contextOptions,
    });
    // Also for the pages that this one opens.
    context.setDefaultTimeout(DEADLINE_MS);
    const page = await context.newPage();
    const opened = new ConsolePage(context, page, expected, new URL(url).host);
    await page.goto(url);
    return opened;
  }

  private constructor(context: BrowserContext, page: Page, expected: readonly RegExp[], host: string) {
    this.#context = context;
    this.page = page;
    this.#expected = expected;
    this.#witness = new PageWitness(page);
    openPages.add(this);
    // Those that a suite shares end with its browser, and have nothing to say to the next one.
    context.once("close", () => openPages.delete(this));
    const note = (problem: string): void => {
      this.#problems.push(problem);
      this.#witness.note(problem);
    };
    page.on("pageerror", (error) => note(`error of the page: ${error.stack ?? error.message}`));
    page.on("crash", () => note("the page crashed"));
    page.on("dialog", (dialog) => {
      note(`a dialog of the browser: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("popup", (popup) => note(`another page: ${popup.url()}`));
    page.on("download", (download) => note(`a download: ${download.url()}`));
    page.on("console", (message) => {
      if (message.type() === "error") note(`console: ${message.text()}`);
    });
    const check = (url: string): void => {
      const target = new URL(url);
      if (target.host !== host && !["data:", "blob:"].includes(target.protocol))
        note(`request to another host: ${url}`);
    };
    context.on("request", (request) => check(request.url()));
    page.on("websocket", (socket) => check(socket.url()));
  }

  /** The frame of the page is there, and its connection. */
  async ready(): Promise<this> {
    await this.page.getByRole("navigation", { name: "Views" }).waitFor();
    // Phones have no room for it.
    await this.page.locator(".rail-state.connected").waitFor({ state: "attached" });
    return this;
  }

  /** What it shows, its connection, and its errors. */
  describe(): Promise<string> {
    return this.#witness.describe();
  }

  /** Nothing went wrong that a person would not see. */
  expectClean(): void {
    const isExpected = (problem: string): boolean => this.#expected.some((pattern) => pattern.test(problem));
    expect(this.#problems.filter((problem) => !isExpected(problem))).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Whether the test has failed is known only afterwards.
    if (openPages.delete(this)) closedPages.push(await this.describe());
    // A context that ends need not tell its pages.
    await Promise.all(this.#context.pages().map((page) => page.close()));
    await this.#context.close();
  }
}

import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";

const DEADLINE_MS = 60_000;
/** What a browser says about a connection that was cut on purpose. */
const NETWORK_ERROR = /ERR_CONNECTION_|ERR_EMPTY_RESPONSE|ERR_SOCKET_|WebSocket connection to/;
const DOWNLOAD = /^a download: blob:/;
const OTHER_TAB = /^another page: |^request to another host: (?:http|ws):\/\/127\.0\.0\.1:\d+\//;
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

/**
 * A tab of a browser that shares nothing with other tabs. Errors of the page, violations of its policy and requests to
 * other hosts are collected, and `expectClean` finds none.
 */
export class ConsolePage implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #problems: string[] = [];
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
    page.on("pageerror", (error) =>
      this.#problems.push(`error of the page: ${error.stack ?? error.message}`),
    );
    page.on("crash", () => this.#problems.push("the page crashed"));
    page.on("dialog", (dialog) => {
      this.#problems.push(`a dialog of the browser: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("popup", (popup) => this.#problems.push(`another page: ${popup.url()}`));
    page.on("download", (download) => this.#problems.push(`a download: ${download.url()}`));
    page.on("console", (message) => {
      if (message.type() === "error") this.#problems.push(`console: ${message.text()}`);
    });
    const check = (url: string): void => {
      const target = new URL(url);
      if (target.host !== host && !["data:", "blob:"].includes(target.protocol))
        this.#problems.push(`request to another host: ${url}`);
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

  /** Nothing went wrong that a person would not see. */
  expectClean(): void {
    const isExpected = (problem: string): boolean => this.#expected.some((pattern) => pattern.test(problem));
    expect(this.#problems.filter((problem) => !isExpected(problem))).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}

import type { Browser } from "playwright-core";
import { launchChromium } from "../fixtures/launch-chromium.ts";

const DEADLINE_MS = 90_000;

/** A browser that opens pages one after another, each for one script. */
export class Chromium implements AsyncDisposable {
  readonly #browser: Browser;

  static async launch(): Promise<Chromium> {
    return new Chromium(await launchChromium());
  }

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /**
   * Opens a page and evaluates a script in it, whose promise is awaited. With `html`, that is the document at the
   * address: the page has its origin, but only what it asks for afterwards reaches the server there.
   */
  async evaluate(url: string, script: string, html?: string): Promise<unknown> {
    const page = await this.#browser.newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    try {
      if (html !== undefined)
        await page.route(
          (address) => address.href === new URL(url).href,
          (route) =>
            route.request().isNavigationRequest()
              ? route.fulfill({ contentType: "text/html", body: html })
              : route.continue(),
        );
      await page.goto(url);
      return await page.evaluate(script);
    } finally {
      await page.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

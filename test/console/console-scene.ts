import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import type { Relay } from "../client/relay.ts";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage, type PageOptions } from "./console-page.ts";
import { ConsoleServer, type ConsoleServerOptions } from "./console-server.ts";

/** A browser, and a server with its console. They are there while the tests of a file or a suite run. */
export class ConsoleScene {
  #browser: Browser | undefined;
  #server: ConsoleServer | undefined;

  get browser(): Browser {
    return this.#browser!;
  }

  get server(): ConsoleServer {
    return this.#server!;
  }

  async start(options?: ConsoleServerOptions): Promise<void> {
    [this.#browser, this.#server] = await Promise.all([launchChromium(), ConsoleServer.start(options)]);
  }

  async end(): Promise<void> {
    await Promise.all([this.#browser?.close(), this.#server?.[Symbol.asyncDispose]()]);
  }

  /** A page that has signed in with its own link, and is connected. */
  async open(options?: PageOptions): Promise<ConsolePage> {
    return (await ConsolePage.open(this.browser, await this.server.newLink(), options)).ready();
  }

  /** The same through a relay, whose connections may be lost. */
  async openBehind(relay: Relay, options?: PageOptions): Promise<ConsolePage> {
    const [, fragment] = (await this.server.newLink()).split("#");
    const url = `${originOf(relay)}/#${fragment}`;
    return (await ConsolePage.open(this.browser, url, { losesConnections: true, ...options })).ready();
  }
}

/** Where a page that is reached through a relay comes from. */
export function originOf(relay: Relay): string {
  return relay.url.replace("ws:", "http:");
}

/** Starts both before the tests, and ends them afterwards. */
export function useConsole(options?: ConsoleServerOptions): ConsoleScene {
  const scene = new ConsoleScene();
  beforeAll(() => scene.start(options));
  afterAll(() => scene.end());
  return scene;
}

import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";

/** A console whose users have tokens, and a directory that they share. */
export class TokenConsole implements AsyncDisposable {
  /** `prepare` fills the directory, and says what each token may do, in the language of token tables. */
  static async open<Name extends string>(
    tokens: Readonly<Record<Name, string>>,
    prepare: (shared: string) => Promise<Readonly<Record<Name, string>>>,
  ): Promise<TokenConsole> {
    const shared = await mkdtemp("/var/tmp/exec-server-shared-");
    const secrets = await mkdtemp("/var/tmp/exec-server-tokens-");
    const rights = await prepare(shared);
    const entries = (Object.keys(tokens) as Name[]).map((name) => {
      const sha256 = createHash("sha256").update(tokens[name]).digest("hex");
      return `[[token]]\nname = "${name}"\nsha256 = "${sha256}"\n${rights[name]}\n`;
    });
    const path = join(secrets, "tokens.toml");
    await writeFile(path, entries.join("\n"), { mode: 0o600 });
    const args = ["--ws-auth", "token-table", "--ws-token-table", path];
    const [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start({ args })]);
    return new TokenConsole(browser, server, [shared, secrets]);
  }

  readonly server: ConsoleServer;
  readonly #browser: Browser;
  readonly #directories: readonly [string, string];

  private constructor(browser: Browser, server: ConsoleServer, directories: readonly [string, string]) {
    this.#browser = browser;
    this.server = server;
    this.#directories = directories;
  }

  get shared(): string {
    return this.#directories[0];
  }

  /** Signs in with a token. */
  async signIn(token: string, path = ""): Promise<ConsolePage> {
    const opened = await ConsolePage.open(this.#browser, `${this.server.origin}${path}`);
    await opened.page.getByLabel("Token").fill(token);
    await opened.page.keyboard.press("Enter");
    return await opened.ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#browser.close(), this.server[Symbol.asyncDispose]()]);
    for (const directory of this.#directories) await rm(directory, { recursive: true, force: true });
  }
}

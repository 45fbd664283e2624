import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual, promisify } from "node:util";

const run = promisify(execFile);
const DEADLINE_MS = 60_000;
/** Every look starts a program, so it is not taken all the time. */
const LOOK_INTERVAL_MS = 40;

/** All of a terminal belongs to its program. */
const SETTINGS = Object.entries({ "default-terminal": "screen-256color", status: "off" }).flatMap(
  ([option, value]) => ["set-option", "-g", option, value, ";"],
);

/**
 * Runs a program and writes its status to a file. The terminal stays as the program has left it: tmux itself sometimes
 * does not notice an end.
 */
const PROGRAM = 'file=$1; shift; trap : INT QUIT TSTP; "$@"; echo $? > "$file"; exec cat > /dev/null';

export interface TerminalOptions {
  /** Default: 80. */
  readonly columns?: number;
  /** Default: 24. */
  readonly rows?: number;
  /** Besides PATH, HOME and what tmux sets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** What a person can see, and what a program could ask the terminal. */
export interface ScreenState {
  /** Every row with its colours, as escape sequences. */
  readonly rows: readonly string[];
  readonly cursor: string;
  readonly modes: string;
}

/** A line for a shell that says `size is ROWS COLUMNS` as soon as its terminal has that size. */
export function untilSize(columns: number, rows: number): string {
  const size = `${rows} ${columns}`;
  return `until [ "$(stty size)" = "${size}" ]; do sleep 0.05; done; echo "size is $(stty size)"`;
}

/** A tmux server of one test, with its own socket, home and no configuration. */
export class Tmux implements AsyncDisposable {
  static async start(): Promise<Tmux> {
    return new Tmux(await mkdtemp(join(tmpdir(), "exec-server-tmux-")));
  }

  /** An empty home for whatever runs in the terminals. */
  readonly home: string;
  #terminals = 0;

  private constructor(home: string) {
    this.home = home;
  }

  /** Runs a command in a new terminal, which stays when the command has ended. */
  async open(command: readonly string[], options: TerminalOptions = {}): Promise<TmuxTerminal> {
    const { columns = 80, rows = 24, env = {}, cwd = this.home } = options;
    this.#terminals += 1;
    const name = `t${this.#terminals}`;
    const variables = Object.entries(env).flatMap(([key, value]) => ["-e", `${key}=${value}`]);
    const size = ["-x", String(columns), "-y", String(rows)];
    const session = ["new-session", "-d", "-s", name, ...size, "-c", cwd, ...variables];
    const shell = ["sh", "-c", PROGRAM, "sh", join(this.home, `${name}.status`), ...command];
    await this.command("start-server", ";", ...SETTINGS, ...session, "--", ...shell);
    return new TmuxTerminal(this, name);
  }

  /** Runs a command of tmux, and returns what it prints. */
  async command(...args: string[]): Promise<string> {
    const env = { PATH: process.env["PATH"], HOME: this.home, TERM: "xterm-256color", LANG: "C.UTF-8" };
    const socket = join(this.home, "tmux.sock");
    const { stdout } = await run("tmux", ["-u", "-S", socket, "-f", "/dev/null", ...args], { env });
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#terminals > 0) await this.command("kill-server").catch(() => {});
    // A shell that is ended by this may still write its history.
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One terminal with a person in front of it. */
export class TmuxTerminal {
  readonly #tmux: Tmux;
  readonly name: string;

  constructor(tmux: Tmux, name: string) {
    this.#tmux = tmux;
    this.name = name;
  }

  /** Types text as it is. */
  async type(text: string): Promise<void> {
    await this.#tmux.command("send-keys", "-t", this.name, "-l", "--", text);
  }

  /** Presses keys by the names that tmux has for them: `Enter`, `C-c`, `Escape`, `Up`. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux.command("send-keys", "-t", this.name, "--", ...keys);
  }

  /** Types a line and presses Enter. */
  async enter(line: string): Promise<void> {
    await this.type(line);
    await this.press("Enter");
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux.command("resize-window", "-t", this.name, "-x", String(columns), "-y", String(rows));
  }

  /** Has the shell in this terminal wait for a size of its window, which travels on another way than what is typed. */
  async hasSize(columns: number, rows: number): Promise<void> {
    await this.enter(untilSize(columns, rows));
    await this.shows(`size is ${rows} ${columns}`);
  }

  /** The text of the screen, without spaces at the ends of its rows. */
  async text(): Promise<string> {
    return (await this.#tmux.command("capture-pane", "-p", "-t", this.name)).trimEnd();
  }

  /** What a person can scroll back to, and the screen. Lines that the terminal has wrapped are whole. */
  async history(): Promise<string> {
    const text = await this.#tmux.command("capture-pane", "-p", "-J", "-S", "-", "-t", this.name);
    return text.replaceAll(/ +$/gm, "").trimEnd();
  }

  async forgetHistory(): Promise<void> {
    await this.#tmux.command("clear-history", "-t", this.name);
  }

  async state(): Promise<ScreenState> {
    const captured = await this.#tmux.command("capture-pane", "-p", "-e", "-t", this.name);
    return {
      rows: captured.split("\n").map((row) => row.trimEnd()),
      cursor: await this.#ask("#{cursor_x},#{cursor_y} visible=#{cursor_flag}"),
      modes: await this.#ask(
        "alternate=#{alternate_on} cursor-keys=#{keypad_cursor_flag} keypad=#{keypad_flag} insert=#{insert_flag} " +
          "origin=#{origin_flag} wrap=#{wrap_flag} mouse=#{mouse_any_flag}/#{mouse_sgr_flag} " +
          "margins=#{scroll_region_upper}-#{scroll_region_lower}",
      ),
    };
  }

  /** Waits until the screen shows something; fails with what it shows instead. */
  async shows(what: string | RegExp, deadlineMs = DEADLINE_MS): Promise<string> {
    const fits = (text: string) => (typeof what === "string" ? text.includes(what) : what.test(text));
    let text = "";
    await this.until(
      async () => fits((text = await this.text())),
      () => `${String(what)} on the screen:\n${text}`,
      deadlineMs,
    );
    return text;
  }

  /** Waits until the screen does not show something. */
  async hides(what: string, deadlineMs = DEADLINE_MS): Promise<void> {
    let text = "";
    await this.until(
      async () => !(text = await this.text()).includes(what),
      () => `${what} to vanish:\n${text}`,
      deadlineMs,
    );
  }

  /** Waits until a program could ask the terminal for these modes. */
  async hasModes(modes: RegExp): Promise<void> {
    let seen = "";
    await this.until(
      async () => modes.test((seen = (await this.state()).modes)),
      () => `the modes ${modes}: ${seen}`,
    );
  }

  /** Waits until this terminal and another look the same in everything. */
  async looksLike(other: Pick<TmuxTerminal, "state">, deadlineMs = DEADLINE_MS): Promise<void> {
    let states: ScreenState[] = [];
    await this.until(
      async () => {
        states = [await this.state(), await other.state()];
        return isDeepStrictEqual(states[0], states[1]);
      },
      () => `two equal screens: ${JSON.stringify(states, undefined, 1)}`,
      deadlineMs,
    );
  }

  /** Waits for the end of the program, and returns its status. */
  async status(deadlineMs = DEADLINE_MS): Promise<number> {
    let status = "";
    await this.until(
      async () =>
        (status = await readFile(join(this.#tmux.home, `${this.name}.status`), "utf8").catch(() => "")) !==
        "",
      async () => `the end of the program:\n${await this.text()}`,
      deadlineMs,
    );
    return Number(status);
  }

  /** Asks again and again until `look` holds. */
  async until(
    look: () => Promise<boolean>,
    what: () => string | Promise<string>,
    deadlineMs = DEADLINE_MS,
  ): Promise<void> {
    const end = performance.now() + deadlineMs;
    while (!(await look())) {
      if (performance.now() > end)
        throw new Error(`after ${deadlineMs} ms still waiting for ${await what()}`);
      await delay(LOOK_INTERVAL_MS);
    }
  }

  async #ask(format: string): Promise<string> {
    return (await this.#tmux.command("display-message", "-p", "-t", this.name, format)).trimEnd();
  }
}

import {
  answerWith,
  functionCall,
  message,
  outputsOf,
  ResponsesEndpoint,
} from "../../fixtures/scripted-model.mjs";
import { Tmux, type TmuxTerminal } from "../tmux.ts";
import { Machines } from "./machines.ts";
import { scrub } from "./scrub.ts";

const SHELL = ["bash", "--norc", "--noprofile", "-i"];
const PROMPT = "$ ";
/** After Ctrl-C, the prompt may follow on the same line. */
const PROMPT_LINE = /^(?:\^C)?\$(?: |$)/;
const SIZE = { columns: 100, rows: 24 } as const;

/** Where Ann sits: her machines, and as many terminals as she likes, each with a shell in her project. */
export class Desk implements AsyncDisposable {
  static async open(): Promise<Desk> {
    const endpoint = await ResponsesEndpoint.start(readNotes);
    return new Desk(await Machines.create(), await Tmux.start(), endpoint);
  }

  readonly machines: Machines;
  readonly #tmux: Tmux;
  readonly #endpoint: ResponsesEndpoint;

  private constructor(machines: Machines, tmux: Tmux, endpoint: ResponsesEndpoint) {
    this.machines = machines;
    this.#tmux = tmux;
    this.#endpoint = endpoint;
  }

  async terminal(): Promise<DeskTerminal> {
    const { here, project, root } = this.machines;
    const model = { OPENAI_BASE_URL: this.#endpoint.baseUrl, OPENAI_MODEL: "gpt-5" };
    const variables = Object.entries({ ...here, ...model }).map(([name, value]) => `${name}=${value}`);
    const terminal = await this.#tmux.open(["env", "-i", ...variables, `PS1=${PROMPT}`, ...SHELL], {
      ...SIZE,
      cwd: project,
    });
    const opened = new DeskTerminal(terminal, root);
    await opened.prompt();
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux[Symbol.asyncDispose]();
    await this.machines[Symbol.asyncDispose]();
    await this.#endpoint[Symbol.asyncDispose]();
  }
}

/** The model of the page reads Ann's notes, and says what is in them. */
function readNotes(...[asked, response]: Parameters<Parameters<typeof ResponsesEndpoint.start>[0]>): void {
  const item =
    outputsOf(asked).length === 0
      ? functionCall("call-1", "read_file", { path: "notes.txt" })
      : message("m", "You wanted to buy milk.");
  answerWith(response, "r", [item], { input_tokens: 1200, output_tokens: 30, total_tokens: 1230 });
}

/** A terminal with a shell. */
export class DeskTerminal {
  readonly #terminal: TmuxTerminal;
  readonly #root: string;
  #lines = 0;

  constructor(terminal: TmuxTerminal, root: string) {
    this.#terminal = terminal;
    this.#root = root;
  }

  /** Types a line for the shell, and waits until the shell is ready for another. */
  async run(line: string): Promise<void> {
    await this.begin(line);
    await this.prompt();
  }

  /** Types a line for the shell, which starts something. */
  async begin(line: string): Promise<void> {
    await this.#terminal.enter(line);
    this.#lines += 1;
  }

  /** Types a line for what was started. */
  async enter(line: string): Promise<void> {
    await this.#terminal.enter(line);
  }

  /** Types text for what was started, without Enter. */
  async type(text: string): Promise<void> {
    await this.#terminal.type(text);
  }

  /** Presses keys by the names that tmux has for them. */
  async press(...keys: string[]): Promise<void> {
    await this.#terminal.press(...keys);
  }

  /** Waits until the screen shows something. */
  async shows(what: string | RegExp): Promise<string> {
    return await this.#terminal.shows(what);
  }

  /**
   * Presses Tab until the line is completed: on a busy machine a server may be too late. The mark is shown when the
   * shell is done with Tab.
   */
  async complete(completed: RegExp): Promise<void> {
    let text = "";
    for (let tries = 20; tries > 0 && !completed.test(text); tries -= 1) {
      await this.press("Tab");
      await this.type("#");
      await this.shows(/#$/);
      await this.press("BSpace");
      text = await this.shows(/[^#]$/);
    }
    if (!completed.test(text)) throw new Error(`Tab does not complete to ${completed}:\n${text}`);
  }

  /** Waits until the shell is ready: it has printed one prompt more than lines were typed, the last at the end. */
  async prompt(): Promise<void> {
    let text = "";
    await this.#terminal.until(
      async () => {
        text = await this.#terminal.history();
        const prompts = text.split("\n").filter((line) => PROMPT_LINE.test(line));
        return (
          prompts.length === this.#lines + 1 &&
          text.endsWith(prompts.at(-1)!) &&
          prompts.at(-1)!.endsWith("$")
        );
      },
      () => `a prompt after ${this.#lines} lines:\n${text}`,
    );
  }

  /** Empties the screen, but for the prompt. */
  async clear(): Promise<void> {
    await this.press("C-l");
    this.#lines = 0;
    await this.#terminal.shows(/^\$$/);
    await this.#terminal.forgetHistory();
  }

  /** What a person has seen at a moment that shows something. */
  async screenWith(what: RegExp): Promise<string> {
    let screen = "";
    await this.#terminal.until(
      async () => what.test((screen = await this.screen())),
      () => `${what} on the screen:\n${screen}`,
    );
    return screen;
  }

  /** What a person has seen since the terminal was empty, without the prompt at the end. */
  async screen(): Promise<string> {
    const text = await this.#terminal.history();
    return scrub(text, this.#root)
      .replace(/\n?(\^C)?\$$/, (_, interrupt = "") => (interrupt === "" ? "" : `\n${interrupt}`))
      .replaceAll(/\n{3,}/g, "\n\n");
  }
}

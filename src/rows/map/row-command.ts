import { UsageError } from "../../base/errors.ts";
import { scriptWithValues } from "../../client/process/shell-script.ts";
import type { RowItem } from "../engine/row.ts";
import type { CheckRow } from "../input/rows-file.ts";
import { Template } from "../template/template.ts";

/** Longest argument that Linux takes. */
const MAX_ARGUMENT_BYTES = 128 * 1024 - 1;

/** How to make a command from a row. */
export interface RowCommandOptions {
  /** Program and arguments, with the names of columns in braces. */
  readonly argv: readonly string[];
  /** Joins the arguments to a line for `/bin/sh`, or for this shell. Cells are passed as arguments, never as code. */
  readonly shell?: boolean | string;
}

/** The command for each row. A cell is one argument or a part of one. */
export class RowCommand {
  readonly #arguments: readonly Template[];
  readonly #shell: string | undefined;

  constructor({ argv, shell = false }: RowCommandOptions) {
    if (argv.length === 0 || argv[0] === "") throw new UsageError("a command is missing");
    this.#shell = shell === true ? "/bin/sh" : shell === false ? undefined : shell;
    const texts = this.#shell === undefined ? argv : [argv.join(" ")];
    this.#arguments = texts.map((text) => new Template(text));
  }

  /** True if all rows start the same program. */
  get isOneProgram(): boolean {
    return this.#shell !== undefined || this.#arguments[0]!.names.length === 0;
  }

  /** Looks at the rows before any of them runs. */
  check(columns: readonly string[]): CheckRow {
    for (const template of this.#arguments) template.check(columns);
    return (item) => this.#fault(item);
  }

  /** Program and arguments for a row. */
  argvFor({ values }: RowItem): string[] {
    if (this.#shell === undefined) return this.#arguments.map((template) => template.textFor(values));
    const [{ texts, names }] = this.#arguments as [Template];
    const { script, words } = scriptWithValues(
      texts,
      names.map((name) => values[name] ?? ""),
    );
    return [this.#shell, "-c", script, "sh", ...words];
  }

  #fault(item: RowItem): string | undefined {
    for (const template of this.#arguments) {
      const missing = template.missing(item.values);
      if (missing !== undefined) return `it has no '${missing}'`;
    }
    const argv = this.argvFor(item);
    if (argv[0] === "") return "its program is empty";
    const large = argv.findIndex((argument) => Buffer.byteLength(argument) > MAX_ARGUMENT_BYTES);
    if (large === -1) return undefined;
    const bytes = Buffer.byteLength(argv[large]!);
    return `its argument ${large} would have ${bytes} bytes, and a program takes ${MAX_ARGUMENT_BYTES}; pass it the row with --stdin json`;
  }
}

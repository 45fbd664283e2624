/** A command line as a person typed it. */
export interface ParsedCommand {
  readonly argv: readonly string[];
  /** The part that only a shell understands, such as a pipe or a variable. */
  readonly shellPart: string | undefined;
  /** A quote that is not closed. */
  readonly openQuote: "'" | '"' | undefined;
}

const OPERATORS = new Set(["|", "&", ";", "<", ">", "(", ")", "`", "\n"]);
/** Anywhere in a word. */
const EXPANDED = new Set(["$", "*", "?", "["]);

/** Splits a command line into words as a shell would, without variables, patterns or operators. */
export function parseCommand(line: string): ParsedCommand {
  const argv: string[] = [];
  let word: string | undefined;
  let quote: "'" | '"' | undefined;
  let shellPart: string | undefined;
  const notice = (part: string): void => {
    shellPart ??= part;
  };
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (quote === "'") {
      if (character === "'") quote = undefined;
      else word += character;
    } else if (quote === '"') {
      if (character === '"') quote = undefined;
      else if (character === "\\" && '"\\$`'.includes(line[at + 1] ?? " ")) word += line[++at]!;
      else {
        if (character === "$" || character === "`") notice(character);
        word += character;
      }
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (character === "\\" && at + 1 < line.length) word = (word ?? "") + line[++at]!;
    else if (OPERATORS.has(character)) {
      notice(character);
      word = (word ?? "") + character;
    } else if (/\s/.test(character)) {
      if (word !== undefined) argv.push(word);
      word = undefined;
    } else {
      const isHome = character === "~" && word === undefined && /^~(?:\/|\s|$)/.test(line.slice(at));
      const isAssignment = character === "=" && argv.length === 0 && /^[A-Za-z_]\w*$/.test(word ?? "");
      const isComment = character === "#" && word === undefined;
      if (EXPANDED.has(character) || isHome || isComment) notice(character);
      if (isAssignment) notice(`${word}=`);
      word = (word ?? "") + character;
    }
  }
  if (word !== undefined) argv.push(word);
  return { argv, shellPart, openQuote: quote };
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** Why a text cannot name a kept process; undefined if it can. */
export function faultOfName(name: string): string | undefined {
  if (name === "") return "Enter a name to find it by.";
  return NAME.test(name)
    ? undefined
    : "A name has up to 128 letters, digits, dots, dashes and underscores, and starts with a letter or digit.";
}

/** Words that say nothing about what runs. */
const NO_PROGRAMS = new Set(["sudo", "env", "exec", "nice", "nohup", "time"]);
const KEYWORDS = new Set(["for", "while", "until", "if", "case", "{", "(", "!"]);

/** A free name that says what runs. */
export function suggestName(argv: readonly string[], taken: ReadonlySet<string>): string {
  const program = argv.find((word) => !/^[A-Za-z_]\w*=/.test(word) && !NO_PROGRAMS.has(word)) ?? "";
  const last = program.split("/").at(-1) ?? "";
  const clean = last.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  const base = KEYWORDS.has(last) ? "script" : clean.slice(0, 100) || "process";
  if (!taken.has(base)) return base;
  let number = 2;
  while (taken.has(`${base}-${number}`)) number++;
  return `${base}-${number}`;
}

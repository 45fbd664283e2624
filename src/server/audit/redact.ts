import { shorten } from "../../base/shorten.ts";

const HIDDEN = "***";
/** Longer texts are cut. */
const MAX_TEXT_CHARACTERS = 4_096;
const MAX_URL_CHARACTERS = 2_048;
/** For all arguments of one start together. */
const MAX_ARGV_CHARACTERS = 32 * 1024;
const MAX_NAMES = 256;
const MAX_NAME_CHARACTERS = 128;

/** A text of a client, cut to a length that no line is too long for. */
export function cut(text: string, maxCharacters = MAX_TEXT_CHARACTERS): string {
  if (text.length <= maxCharacters) return text;
  return `${shorten(text, maxCharacters)} (${text.length} characters)`;
}

/** A URL without user, password and fragment, and with the names but not the values of its query. */
export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return HIDDEN;
  }
  const names = [...url.searchParams.keys()].map((name) => `${encodeURIComponent(name)}=${HIDDEN}`);
  url.username = "";
  url.password = "";
  url.hash = "";
  url.search = "";
  return cut(names.length === 0 ? url.href : `${url.href}?${names.join("&")}`, MAX_URL_CHARACTERS);
}

/** Parts of names whose values are secrets. */
const SECRET_NAME =
  /passw|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|signature/i;
const SHORT_SECRET_NAME = /^(?:auth|pass|pat|sig|key|cookie)$/i;

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || SHORT_SECRET_NAME.test(name.slice(name.lastIndexOf("-") + 1));
}

/** Quickly detects the usual case, in which there is nothing to hide. */
const SUSPECT = /[:=]|_|sk-|glpat-|xox|A[KS]IA|eyJ|PRIVATE KEY/;
const SECRET_HEADER =
  /(?:authorization|cookie|api-key|auth-token|access-token|private-token|vault-token|security-token) ?:/gi;
const WORD = /[\w.-]+/g;
/**
 * Forms of exec-server, GitHub, GitLab, Slack, OpenAI and AWS, and of JSON Web Tokens. Those that do not occur in other
 * words may follow an option (`-pghp_…`).
 */
const KNOWN_TOKEN = /exs_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|^(?:sk-|A[KS]IA|eyJ)/;
const MIN_TOKEN_CHARACTERS = 20;

function redactText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  const shown = redactUsers(redactAssignments(redactHeaders(redactMembers(text)))).replaceAll(WORD, (word) =>
    word.length >= MIN_TOKEN_CHARACTERS && KNOWN_TOKEN.test(word) ? HIDDEN : word,
  );
  const key = shown.indexOf("PRIVATE KEY-----");
  return key < 0 ? shown : `${shown.slice(0, key)}${HIDDEN}`;
}

/** The start of a text in quotes, such as Python's `f"`. */
const OPENING_QUOTE = /[a-z]?(\\?["'])/iy;
const MEMBER_END = /[\s,;})\]]/;

/** `"Authorization": "…"`, `'password' : …`, as in JSON and most languages. In a script, quotes can be escaped. */
function redactMembers(text: string): string {
  let shown = "";
  let done = 0;
  for (let colon = text.indexOf(":"); colon >= 0; colon = text.indexOf(":", colon + 1)) {
    if (colon < done || !isSecretName(quotedNameBefore(text, colon))) continue;
    const value = text[colon + 1] === " " ? colon + 2 : colon + 1;
    shown += `${text.slice(done, value)}${HIDDEN}`;
    OPENING_QUOTE.lastIndex = value;
    const [opening, quote] = OPENING_QUOTE.exec(text) ?? [];
    done = quote === undefined ? value : endOfQuoted(text, value + opening!.length, quote);
    if (quote === undefined) while (done < text.length && !MEMBER_END.test(text[done]!)) done += 1;
  }
  return shown + text.slice(done);
}

/** Empty if there is none. */
function quotedNameBefore(text: string, colon: number): string {
  let end = text[colon - 1] === " " ? colon - 2 : colon - 1;
  const quote = text[end];
  if (text[end - 1] === "\\") end -= 1;
  const start = startOfName(text, end);
  return (quote === '"' || quote === "'") && text[start - 1] === quote ? text.slice(start, end) : "";
}

/** Behind the quote that ends the text at `start`; a backslash before it is part of the text, unless it is of the quote. */
function endOfQuoted(text: string, start: number, quote: string): number {
  for (let end = text.indexOf(quote, start); end >= 0; end = text.indexOf(quote, end + 1))
    if (quote === "'" || text[end - 1] !== "\\") return end + quote.length;
  return text.length;
}

/** Redacts header values, whatever their form: parameters of `Authorization` can be quoted. */
function redactHeaders(text: string): string {
  let shown = "";
  let done = 0;
  for (const { 0: name, index } of text.matchAll(SECRET_HEADER)) {
    if (index < done) continue;
    const value = index + name.length;
    shown += `${text.slice(done, value)} ${HIDDEN}`;
    done = endOfHeader(text, { start: startOfName(text, index), value });
  }
  return shown + text.slice(done);
}

/** A header in quotes ends with them; another one with its line and the lines that continue it. */
function endOfHeader(text: string, { start, value }: { start: number; value: number }): number {
  const quote = text[start - 1];
  const isQuoted = quote === "'" || quote === '"';
  for (let end = value; end < text.length; end += 1) {
    const character = text[end];
    if (isQuoted) {
      if (character === quote && (quote === "'" || text[end - 1] !== "\\")) return end;
    } else if (character === "\n" && text[end + 1] !== " " && text[end + 1] !== "\t") return end;
  }
  return text.length;
}

/** Start of the name that ends here. */
function startOfName(text: string, end: number, min = 0): number {
  let start = end;
  while (start > min && end - start < MAX_NAME_CHARACTERS && NAME_CHARACTER.test(text[start - 1]!))
    start -= 1;
  return start;
}

const AUTHORITY_END = /[\s/?#'"]/;

/** `user:password@` in a URL. Passwords may contain `@`. */
function redactUsers(text: string): string {
  const [before = "", ...urls] = text.split("://");
  const hidden = urls.map((url) => {
    const end = url.search(AUTHORITY_END);
    const at = (end < 0 ? url : url.slice(0, end)).lastIndexOf("@");
    return at > 0 ? `${HIDDEN}${url.slice(at)}` : url;
  });
  return [before, ...hidden].join("://");
}

/** A word of a script, with the quotes in it. */
const SHELL_WORD = /(?:[^\s'";|&]|'[^']*'?|"(?:\\[^]|[^"\\])*"?)+/g;

/** Options of the commands in a script, whose values can be quoted. */
function redactScript(text: string): string {
  if (!/\s/.test(text)) return text;
  let before: string | undefined;
  return text.replaceAll(SHELL_WORD, (word) => {
    const shown = redactValue(word, before);
    before = word;
    return shown;
  });
}

/** An argument, or a word of a script, which can be the value of an option before it. */
function redactValue(argument: string, before: string | undefined): string {
  return before !== undefined && isSecretOption(before) ? HIDDEN : redactLogin(argument, before);
}

/** `-u user:password`, as curl takes it: the option may be the argument before, and follow others without a value. */
const USER_OPTION = /^(?:-[fgikLnsSv]*[uU]|--user|--proxy-user)$/;
const USER_ARGUMENT = /^(?:-[fgikLnsSv]*[uU]|--user=|--proxy-user=)/;

function redactLogin(argument: string, before: string | undefined): string {
  const isLogin = USER_OPTION.test(before ?? "") || USER_ARGUMENT.test(argument);
  const colon = isLogin ? argument.indexOf(":") : -1;
  return colon < 0 ? argument : `${argument.slice(0, colon + 1)}${HIDDEN}`;
}

const NAME_CHARACTER = /[A-Za-z0-9_-]/;
const VALUE_END = /[\s&;'"]/;

/** `NAME=value` and `--name=value`, also in a query. */
function redactAssignments(text: string): string {
  let shown = "";
  let done = 0;
  for (let equals = text.indexOf("="); equals >= 0; equals = text.indexOf("=", equals + 1)) {
    if (equals < done) continue;
    if (!isSecretName(text.slice(startOfName(text, equals, done), equals))) continue;
    let end = equals + 1;
    if (text[end] === "$" && text[end + 1] === "'") end += 1;
    const quote = text[end];
    if (quote === "'" || quote === '"') end = endOfQuoted(text, end + 1, quote);
    else while (end < text.length && !VALUE_END.test(text[end]!)) end += 1;
    shown += `${text.slice(done, equals + 1)}${HIDDEN}`;
    done = end;
  }
  return shown + text.slice(done);
}

/** Arguments without what looks like a secret, cut to a bound for all of them. */
export function redactArgv(argv: readonly string[]): {
  readonly argv: readonly string[];
  readonly argvOmitted?: number;
} {
  const shown: string[] = [];
  let left = MAX_ARGV_CHARACTERS;
  let before: string | undefined;
  for (const argument of argv) {
    if (left <= 0) break;
    // Cut first, so that the patterns have a bounded text. A secret that is cut is still found by its beginning.
    const text = redactText(redactScript(redactValue(redactOption(cut(argument, left)), before)));
    before = argument;
    shown.push(text);
    left -= text.length + 3;
  }
  return shown.length === argv.length
    ? { argv: shown }
    : { argv: shown, argvOmitted: argv.length - shown.length };
}

/** `--password=two words`: unlike in a script, the value ends with the argument. */
function redactOption(argument: string): string {
  const equals = argument.startsWith("-") ? argument.indexOf("=") : -1;
  return equals > 0 && startOfName(argument, equals) === 0 && isSecretName(argument.slice(0, equals))
    ? `${argument.slice(0, equals + 1)}${HIDDEN}`
    : argument;
}

/** `--password`, whose value is the next argument. */
function isSecretOption(argument: string): boolean {
  return (
    argument.startsWith("--") &&
    argument.length <= MAX_NAME_CHARACTERS &&
    !argument.includes("=") &&
    isSecretName(argument)
  );
}

/** Names of variables, without their values. */
export function variableNames(env: Readonly<Record<string, unknown>>): readonly string[] {
  const names: string[] = [];
  for (const name in env) {
    if (names.length === MAX_NAMES) {
      names.push("…");
      break;
    }
    names.push(cut(name, MAX_NAME_CHARACTERS));
  }
  return names;
}

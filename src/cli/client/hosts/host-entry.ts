/**
 * An entry of hosts.toml. The keys, and what each may hold, are those of Codex's environments.toml, and `ca`, `cert` and
 * `key`, which Codex does not have.
 */
export interface HostEntry {
  readonly id: string;
  readonly url?: string;
  readonly auth_bearer_token?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly program?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly connect_timeout_sec?: number;
  readonly initialize_timeout_sec?: number;
}

type Check = (value: unknown) => string | undefined;

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
const must =
  (isRight: (value: unknown) => boolean, what: string): Check =>
  (value) =>
    isRight(value) ? undefined : `must be ${what}`;

const text = must(isText, "a text that is not empty");
const seconds = must((value) => typeof value === "number" && value >= 0, "a number of seconds");

/** What each key may hold. `skills` is Codex's own, and has no meaning here. */
const KEYS: Readonly<Record<string, Check>> = {
  id: (value) => (typeof value === "string" ? nameFault(value) : "must be a text"),
  skills: must(isTable, "a table"),
  url: must(
    (value) => typeof value === "string" && /^(?:wss?|ws\+unix):\/\//.test(value),
    "a URL with ws:// or wss://",
  ),
  auth_bearer_token: text,
  ca: text,
  cert: text,
  key: text,
  program: text,
  args: must(
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
    "an array of texts",
  ),
  env: must(
    (value) => isTable(value) && Object.values(value).every((each) => typeof each === "string"),
    "a table of texts",
  ),
  cwd: text,
  connect_timeout_sec: seconds,
  initialize_timeout_sec: seconds,
};

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** `local` is the user's own server, and Codex's own environment; `none` is Codex's word for no environment. */
const RESERVED = new Set(["local", "none"]);

/** Why a text cannot be the name of a host; undefined if it can. */
export function nameFault(name: string): string | undefined {
  if (!NAME.test(name)) return "must have 1 to 64 letters, digits, '-' or '_'";
  return RESERVED.has(name) ? `must not be '${name}', which is reserved` : undefined;
}

/** Why a value is no entry; undefined if it is one. */
export function entryFault(value: unknown): string | undefined {
  if (!isTable(value)) return "it must be a table";
  for (const [key, held] of Object.entries(value)) {
    const check = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
    if (check === undefined) return `'${key}' is not a known key`;
    const fault = check(held);
    if (fault !== undefined) return `'${key}' ${fault}`;
  }
  if (value["id"] === undefined) return "it has no 'id'";
  const hasUrl = value["url"] !== undefined;
  if (hasUrl === (value["program"] !== undefined)) return "it must have either 'url' or 'program'";
  const foreign = hasUrl
    ? ["args", "env", "cwd"]
    : ["auth_bearer_token", "connect_timeout_sec", "ca", "cert", "key"];
  const misplaced = foreign.find((key) => value[key] !== undefined);
  return misplaced && `'${misplaced}' needs '${hasUrl ? "program" : "url"}'`;
}

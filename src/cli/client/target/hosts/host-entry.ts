import { type Check, isTable, keysFault, must, nameFault, text } from "./entry-checks.ts";

/**
 * An entry of hosts.toml. Keys and values are those of Codex's environments.toml, plus `ca`, `cert` and `key`, which
 * Codex does not have.
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

const seconds = must((value) => typeof value === "number" && value >= 0, "a number of seconds");

/** Valid values of each key. `skills` is Codex's own, and has no effect here. */
const KEYS: Readonly<Record<string, Check>> = {
  id: (value) => (typeof value === "string" ? nameFault(value) : "must be a string"),
  skills: must(isTable, "a table"),
  url: must(
    (value) => typeof value === "string" && /^(?:wss?|ws\+unix|relay\+https?):\/\//.test(value),
    "a URL with ws://, wss:// or relay+https://",
  ),
  auth_bearer_token: text,
  ca: text,
  cert: text,
  key: text,
  program: text,
  args: must(
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
    "an array of strings",
  ),
  env: must(
    (value) => isTable(value) && Object.values(value).every((each) => typeof each === "string"),
    "a table of strings",
  ),
  cwd: text,
  connect_timeout_sec: seconds,
  initialize_timeout_sec: seconds,
};

/** Why a value is not a valid entry; undefined if it is. */
export function entryFault(value: unknown): string | undefined {
  if (!isTable(value)) return "it must be a table";
  const wrongKey = keysFault(value, KEYS);
  if (wrongKey !== undefined) return wrongKey;
  if (value["id"] === undefined) return "'id' is missing";
  const hasUrl = value["url"] !== undefined;
  if (hasUrl === (value["program"] !== undefined)) return "it must have either 'url' or 'program'";
  const foreign = hasUrl
    ? ["args", "env", "cwd"]
    : ["auth_bearer_token", "connect_timeout_sec", "ca", "cert", "key"];
  const misplaced = foreign.find((key) => value[key] !== undefined);
  return misplaced && `'${misplaced}' needs '${hasUrl ? "program" : "url"}'`;
}

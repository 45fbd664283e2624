import { isDeepStrictEqual } from "node:util";
import { stringify } from "smol-toml";
import { messageOf } from "../../../base/errors.ts";
import { Failure } from "../../shared/failure.ts";
import { parseToml } from "../../shared/parse-toml.ts";
import { withoutTable } from "../toml-tables.ts";
import { parseJsonc, type JsoncValue, withMember } from "./jsonc.ts";
import type { McpClientProgram } from "./mcp-clients.ts";
import type { ServerEntry } from "./server-entry.ts";

type Members = Readonly<Record<string, unknown>>;

/** What belongs into a client's file, as text. */
export function configText(
  { section, format, entry }: McpClientProgram,
  name: string,
  server: ServerEntry,
): string {
  const contents = { [section]: { [name]: entry(server) } };
  return format === "toml"
    ? `${stringify(contents).trimEnd()}\n`
    : `${JSON.stringify(contents, undefined, 2)}\n`;
}

/** The text of a client's file with this server in it, and everything else as it was, comments too. */
export function withServer(
  client: McpClientProgram,
  text: string,
  path: string,
  name: string,
  server: ServerEntry,
): string {
  if (text.trim() === "") return configText(client, name, server);
  return client.format === "toml"
    ? inToml(client, text, path, name, server)
    : inJson(client, text, path, name, server);
}

function inJson(
  { section, entry }: McpClientProgram,
  text: string,
  path: string,
  name: string,
  server: ServerEntry,
): string {
  const root = parsed(text, path);
  const servers = memberOf(root, section, path);
  const value = entry(server);
  const changed =
    servers === undefined
      ? withMember(text, root, section, { [name]: value })
      : withMember(text, servers, name, value);
  const before = root.value as Members;
  const expected = { ...before, [section]: { ...(before[section] as Members | undefined), [name]: value } };
  if (!isDeepStrictEqual(parsed(changed, path).value, expected)) throw byHand(path);
  return changed;
}

function parsed(text: string, path: string): JsoncValue {
  let root: JsoncValue;
  try {
    root = parseJsonc(text);
  } catch (error) {
    throw new Failure(`cannot change ${path}: ${messageOf(error)}; correct it first`);
  }
  if (root.members === undefined) throw new Failure(`cannot change ${path}: it does not hold an object`);
  return root;
}

function memberOf(root: JsoncValue, key: string, path: string): JsoncValue | undefined {
  const member = root.members?.findLast((each) => each.key === key);
  if (member !== undefined && member.members === undefined)
    throw new Failure(`cannot change ${path}: ${key} is not an object`);
  return member;
}

function inToml(
  client: McpClientProgram,
  text: string,
  path: string,
  name: string,
  server: ServerEntry,
): string {
  const { section } = client;
  const before: Members = parseToml(path, text);
  const servers = (before[section] ?? {}) as Members;
  const header = `[${section}.${name}]`;
  const without =
    servers[name] === undefined
      ? text
      : withoutTable(text, { header, index: 0, inside: [`[${section}.${name}.`] });
  const value = client.entry(server);
  const gap = without === "" || without.endsWith("\n\n") ? "" : without.endsWith("\n") ? "\n" : "\n\n";
  const changed = `${without}${gap}${header}\n${stringify(value).trimEnd()}\n`;
  const expected = { ...before, [section]: { ...servers, [name]: value } };
  let after: unknown;
  try {
    after = parseToml(path, changed);
  } catch {
    throw byHand(path);
  }
  if (!isSame(after, expected)) throw byHand(path);
  return changed;
}

/** The order of keys does not matter. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));

const byHand = (path: string): Failure =>
  new Failure(
    `cannot change ${path} without touching more of it; put what 'exec-server mcp config' prints there by hand`,
  );

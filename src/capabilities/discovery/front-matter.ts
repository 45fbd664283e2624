import { checkYaml, MAX_YAML_LENGTH, parseYamlFields, YAML_OPTIONS } from "./yaml-fields.ts";

/** The front matter of a SKILL.md. */
export interface FrontMatter {
  readonly name: string | undefined;
  readonly description: string;
  readonly shortDescription: string | undefined;
}

const FENCE = /^[ \t]*---[ \t]*$/;
/** A field with a plain value, which starts with none of the characters that introduce other forms. */
const PLAIN_FIELD = /^(\s*(?:- )?[\w-]+:\s+)([^\s'"|>&*!#].*)$/;

/** Throws if it is missing, or does not describe the skill. */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  const lines = headOf(text);
  try {
    return await readHead(lines.join("\n"));
  } catch {
    return readHead((await Promise.all(lines.map(quotePlainValue))).join("\n"));
  }
}

function headOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (!FENCE.test(lines[0] ?? "") || end < 0) throw new Error("missing YAML front matter between two ---");
  const head = lines.slice(1, end);
  if (head.reduce((length, line) => length + line.length, 0) > MAX_YAML_LENGTH) throw new Error("too long");
  return head;
}

async function readHead(head: string): Promise<FrontMatter> {
  const fields = await parseYamlFields(head);
  const description = fields.text("description");
  if (description === undefined) throw new Error("missing field `description`");
  return {
    name: fields.text("name"),
    description,
    shortDescription: fields.fields("metadata")?.text("short-description"),
  };
}

/** Accepts `description: Use it for: everything`, which is not valid YAML but unambiguous. */
async function quotePlainValue(line: string): Promise<string> {
  const [, field, rest] = PLAIN_FIELD.exec(line) ?? [];
  if (field === undefined || rest === undefined) return line;
  const comment = rest.search(/\s#/);
  const value = (comment < 0 ? rest : rest.slice(0, comment)).trimEnd();
  if (!value.includes(": ") && (await isYaml(value))) return line;
  return `${field}'${value.replaceAll("'", "''")}'`;
}

async function isYaml(value: string): Promise<boolean> {
  const { parseDocument } = await import("yaml");
  checkYaml(value);
  return parseDocument(value, YAML_OPTIONS).errors.length === 0;
}

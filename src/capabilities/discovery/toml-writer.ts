/** The output of `smol-toml` with bigint integers: every number is a float, every date has its own format. */
export type TomlTable = { readonly [key: string]: unknown };

const BARE_KEY = /^[A-Za-z0-9_-]+$/;

/**
 * Writes a table in Codex's layout: values first, then tables under their own headers, in file order. `smol-toml`
 * formats arrays and dates differently, and omits the blank line after an empty table.
 */
export function writeToml(table: TomlTable): string {
  return blocksOf(table, "", "").join("\n");
}

/** A block is a header with its values; blank lines separate blocks. */
function blocksOf(table: TomlTable, name: string, header: string): string[] {
  const values: string[] = [];
  const blocks: string[] = [];
  for (const [key, value] of Object.entries(table)) {
    const inner = name === "" ? writeKey(key) : `${name}.${writeKey(key)}`;
    if (isTable(value)) blocks.push(...blocksOf(value, inner, `[${inner}]\n`));
    else if (isTableArray(value))
      for (const element of value) blocks.push(...blocksOf(element, inner, `[[${inner}]]\n`));
    else values.push(`${writeKey(key)} = ${writeValue(value)}\n`);
  }
  // Tables below imply this one, but nothing implies an array element.
  const needed = values.length > 0 || (header !== "" && (blocks.length === 0 || header.startsWith("[[")));
  return needed ? [header + values.join(""), ...blocks] : blocks;
}

function writeValue(value: unknown): string {
  if (typeof value === "string") return writeString(value);
  if (typeof value === "number") return writeFloat(value);
  if (value instanceof Date) return writeDate(value);
  if (Array.isArray(value)) return `[${value.map(writeValue).join(", ")}]`;
  if (!isTable(value)) return String(value);
  const members = Object.entries(value).map(([key, member]) => `${writeKey(key)} = ${writeValue(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function writeKey(key: string): string {
  return BARE_KEY.test(key) ? key : writeString(key);
}

/**
 * TOML has four equivalent string forms. This one uses JSON's escapes, plus one for DEL, which JSON does not escape.
 */
function writeString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007F");
}

function writeFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const digits = Object.is(value, -0) ? "-0" : String(value);
  return /[.e]/.test(digits) ? digits : `${digits}.0`;
}

/** Milliseconds lose their trailing zeros. */
function writeDate(date: Date): string {
  return date.toISOString().replace(/\.\d{3}/, (fraction) => fraction.replace(/\.?0{0,3}$/, ""));
}

export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function isTableArray(value: unknown): value is TomlTable[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTable);
}

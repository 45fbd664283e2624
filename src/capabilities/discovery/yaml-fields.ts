import type { Document, Node, YAMLMap } from "yaml";

type Yaml = typeof import("yaml");

/**
 * More than anyone writes by hand. The parser is not linear: crafted text of this length takes 50 ms, four times as
 * much takes a second.
 */
export const MAX_YAML_LENGTH = 8 * 1024;

/** Pretty errors would rescan the whole text for each of many errors. */
export const YAML_OPTIONS = { logLevel: "silent", prettyErrors: false } as const;

/** Maximum nesting of lists and mappings. The parser recurses per level, and a stack overflow could end the program. */
const MAX_NESTING = 64;
/** Level markers at the start of a line. */
const LINE_START = /^[ \t]*(?:[-?:][ \t]+)*/;

/** Throws for text that would overload the parser. */
export function checkYaml(source: string): void {
  if (source.length > MAX_YAML_LENGTH) throw new Error("too long");
  let brackets = 0;
  const indents = [-1];
  for (const line of source.split(/[\n\r]/)) {
    const start = LINE_START.exec(line)?.[0] ?? "";
    const marks = start.replace(/[ \t]/g, "").length;
    const indent = start.length;
    if (indent < line.length) {
      while (indents.length > 1 && indents.at(-1)! >= indent) indents.pop();
      indents.push(indent);
    }
    for (const character of line) {
      if (character === "[" || character === "{") brackets += 1;
      else if (character === "]" || character === "}") brackets = Math.max(0, brackets - 1);
      if (brackets > MAX_NESTING) break;
    }
    if (brackets + marks + indents.length > MAX_NESTING) throw new Error("nested too deeply");
  }
}

/** Throws if the text is not YAML, or not a mapping. */
export async function parseYamlFields(source: string): Promise<YamlFields> {
  checkYaml(source);
  const yaml = await import("yaml");
  // Keys that are not read may repeat.
  const document = yaml.parseDocument(source, { ...YAML_OPTIONS, uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  if (!yaml.isMap(document.contents)) throw new Error("expected a mapping");
  return new YamlFields(yaml, document, document.contents);
}

/**
 * Reads a mapping field by field. Scalars are read as text in any form, so that a skill may be called `5`; a field of
 * another kind is an error.
 */
export class YamlFields {
  readonly #yaml: Yaml;
  readonly #document: Document;
  readonly #map: YAMLMap;

  constructor(yaml: Yaml, document: Document, map: YAMLMap) {
    this.#yaml = yaml;
    this.#document = document;
    this.#map = map;
  }

  /** Collapses runs of white space into one blank; undefined if nothing is left. */
  text(key: string): string | undefined {
    const node = this.#get(key);
    if (node === undefined) return undefined;
    if (!this.#yaml.isScalar(node)) throw new Error(`${key}: expected a string`);
    if (node.value === null) return undefined;
    const written = typeof node.value === "string" ? node.value : (node.source ?? "");
    return written.split(/\s+/).filter(Boolean).join(" ") || undefined;
  }

  boolean(key: string): boolean | undefined {
    const value = this.#plain(key);
    if (value === undefined || typeof value === "boolean") return value;
    throw new Error(`${key}: expected a boolean`);
  }

  /** A 16-bit number. */
  port(key: string): number | undefined {
    const value = this.#plain(key);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff) return value;
    throw new Error(`${key}: expected a port`);
  }

  fields(key: string): YamlFields | undefined {
    const node = this.#get(key);
    return node === undefined || this.#isNull(node) ? undefined : this.#toFields(node, key);
  }

  /** A list of mappings; empty if absent. */
  fieldsList(key: string): YamlFields[] {
    return this.#items(key).map((item) => this.#toFields(item, key));
  }

  /** A list of strings; empty if absent. */
  textList(key: string): string[] {
    return this.#items(key).map((item) => {
      if (this.#yaml.isScalar(item) && typeof item.value === "string") return item.value;
      throw new Error(`${key}: expected strings`);
    });
  }

  #items(key: string): Node[] {
    const node = this.#get(key);
    if (node === undefined) return [];
    if (!this.#yaml.isSeq(node)) throw new Error(`${key}: expected a list`);
    return node.items.map((item) => this.#resolve(item, key));
  }

  #plain(key: string): unknown {
    const node = this.#get(key);
    if (node === undefined || this.#isNull(node)) return undefined;
    return this.#yaml.isScalar(node) ? node.value : node;
  }

  #get(key: string): Node | undefined {
    const [pair, another] = this.#map.items.filter(
      (item) => this.#yaml.isScalar(item.key) && item.key.value === key,
    );
    if (another !== undefined) throw new Error(`duplicate field \`${key}\``);
    // A key without a value is null.
    return pair === undefined ? undefined : this.#resolve(pair.value ?? this.#document.createNode(null), key);
  }

  #resolve(value: unknown, key: string): Node {
    const node = this.#yaml.isAlias(value) ? value.resolve(this.#document) : value;
    if (this.#yaml.isNode(node)) return node;
    throw new Error(`${key}: unknown alias`);
  }

  #isNull(node: Node): boolean {
    return this.#yaml.isScalar(node) && node.value === null;
  }

  #toFields(node: Node, key: string): YamlFields {
    if (!this.#yaml.isMap(node)) throw new Error(`${key}: expected a mapping`);
    return new YamlFields(this.#yaml, this.#document, node);
  }
}

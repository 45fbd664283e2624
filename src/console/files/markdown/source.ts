import { GFM, parser } from "@lezer/markdown";

const markdown = parser.configure([GFM]);

/** The parser takes a paragraph in one step, for a time that grows with the square of the marks in it. */
const MAX_PARAGRAPH_MARKS = 5000;
const MAX_PARAGRAPH = 100_000;
const MAX_CHARACTERS = 500_000;
const MAX_PARSE_MS = 2000;

/** A node of parsed Markdown. */
export type MarkdownNode = ReturnType<typeof markdown.parse>["topNode"];

/** Why a text has no preview. */
export class NoPreview extends Error {
  override readonly name = "NoPreview";
}

/** A parsed text. */
export class MarkdownSource {
  readonly top: MarkdownNode;
  readonly #text: string;
  /** The targets of `[label]: url`. */
  readonly #references = new Map<string, string>();

  /** Throws a NoPreview if the text would take too long. */
  constructor(text: string) {
    this.#text = text;
    this.top = parse(text);
    this.top.cursor().iterate((found) => {
      if (found.name === "LinkReference") this.#addReference(found.node);
    });
  }

  #addReference(reference: MarkdownNode): void {
    const [label, url] = [reference.getChild("LinkLabel"), reference.getChild("URL")];
    if (label === null || url === null) return;
    const key = labelKey(this.textOf(label));
    // The first one counts.
    if (!this.#references.has(key)) this.#references.set(key, urlText(this.textOf(url)));
  }

  textOf({ from, to }: { readonly from: number; readonly to: number }): string {
    return this.#text.slice(from, to);
  }

  /** The children of a node, and the text between them. */
  *piecesOf(node: MarkdownNode, from = node.from, to = node.to): Generator<MarkdownNode | string> {
    let at = from;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.to <= from || child.from >= to) continue;
      if (child.from > at) yield this.textOf({ from: at, to: child.from });
      yield child;
      at = child.to;
    }
    if (at < to) yield this.textOf({ from: at, to });
  }

  /** Where a link or a picture points; undefined if nothing says it. */
  urlOf(link: MarkdownNode): string | undefined {
    const url = link.getChild("URL");
    if (url !== null) return urlText(this.textOf(url));
    const label = link.getChild("LinkLabel");
    const { from, to } = this.labelOf(link);
    const key = labelKey(label === null ? "" : this.textOf(label));
    return this.#references.get(key === "" ? labelKey(this.textOf({ from, to })) : key);
  }

  /** The range between the brackets of a link or a picture. */
  labelOf(link: MarkdownNode): { readonly from: number; readonly to: number } {
    const [open, close] = link.getChildren("LinkMark");
    return { from: open?.to ?? link.from, to: close?.from ?? link.to };
  }
}

function parse(text: string): MarkdownNode {
  if (text.length > MAX_CHARACTERS) throw new NoPreview("The file is too large for a preview.");
  let [length, marks] = [0, 0];
  for (const line of text.split("\n")) {
    if (line.trim() === "") [length, marks] = [0, 0];
    length += line.length;
    marks += line.match(/[[\]*_`<>~]/g)?.length ?? 0;
    if (length > MAX_PARAGRAPH || marks > MAX_PARAGRAPH_MARKS)
      throw new NoPreview("It has a paragraph that is too long for a preview.");
  }
  const beganMs = performance.now();
  const parsing = markdown.startParse(text);
  for (;;) {
    const tree = parsing.advance();
    if (tree !== null) return tree.topNode;
    if (performance.now() - beganMs > MAX_PARSE_MS) throw new NoPreview("It is too complex for a preview.");
  }
}

function labelKey(label: string): string {
  return label.replace(/^\[/, "").replace(/\]$/, "").trim().replaceAll(/\s+/g, " ").toLowerCase();
}

function urlText(url: string): string {
  const bare = url.startsWith("<") && url.endsWith(">") ? url.slice(1, -1) : url;
  return bare
    .replaceAll(/\\([!-/:-@[-`{-~])/g, "$1")
    .replaceAll(/&[#\w]{1,9};/g, (entity) => entityText(entity) ?? entity);
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  rarr: "→",
  larr: "←",
};
const MAX_CODE_POINT = 0x10ffff;

/** The character of an entity such as `&amp;` or `&#8212;`; undefined if it is not known. */
export function entityText(entity: string): string | undefined {
  const [, hex, decimal, name = ""] = /^&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));$/i.exec(entity) ?? [];
  const digits = hex ?? decimal;
  if (digits === undefined) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
  const code = Number.parseInt(digits, hex === undefined ? 10 : 16);
  return code > 0 && code <= MAX_CODE_POINT ? String.fromCodePoint(code) : undefined;
}

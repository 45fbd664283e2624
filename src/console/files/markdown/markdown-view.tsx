import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { visibleLines, visibleText } from "../../../base/visible-text.ts";
import { addressOf, parentOf } from "../../frame/paths.ts";
import { headingId, linkTarget } from "./link-target.ts";
import { MarkdownImage } from "./markdown-image.tsx";
import { entityText, type MarkdownNode, MarkdownSource, NoPreview } from "./source.ts";

/** Deeper parts are shown as their source. */
const MAX_DEPTH = 40;
const MAX_NODES = 20_000;
const MAX_IMAGES = 50;

export interface MarkdownViewProps {
  readonly text: string;
  readonly path: string;
}

/**
 * A preview of Markdown. It is made of elements, never of markup: HTML in the text is shown as text, links lead to the
 * web, to files and to headings only, and pictures come from the server's files only.
 */
export function MarkdownView({ text, path }: MarkdownViewProps) {
  const shown = useMemo(() => render(text, parentOf(path)), [text, path]);
  return (
    <article class="markdown" tabIndex={0} aria-label="Preview">
      {shown}
    </article>
  );
}

function render(text: string, directory: string): ComponentChildren {
  try {
    const source = new MarkdownSource(text);
    const renderer = new Renderer(source, directory);
    const shown = renderer.blocks(source.top, 0);
    return renderer.isCut ? [shown, <p class="hint">The rest is not shown: the file is too long.</p>] : shown;
  } catch (error) {
    if (!(error instanceof NoPreview)) throw error;
    return <p class="hint">{error.message}</p>;
  }
}

const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"] as const;
/** What is there for the parser only. */
const SILENT: ReadonlySet<string> = new Set([
  "LinkReference",
  "CommentBlock",
  "Comment",
  "HeaderMark",
  "QuoteMark",
  "ListMark",
  "LinkMark",
  "EmphasisMark",
  "CodeMark",
  "CodeInfo",
  "LinkTitle",
  "LinkLabel",
  "StrikethroughMark",
  "TableDelimiter",
]);

class Renderer {
  isCut = false;
  readonly #source: MarkdownSource;
  readonly #directory: string;
  readonly #ids = new Map<string, number>();
  #nodes = 0;
  #images = 0;

  constructor(source: MarkdownSource, directory: string) {
    this.#source = source;
    this.#directory = directory;
  }

  /** What is in a block, without the white space between blocks. */
  blocks(node: MarkdownNode, depth: number): ComponentChildren[] {
    return this.#pieces(node, depth, (piece) => (piece.trim() === "" ? null : shownText(piece)));
  }

  #inline(node: MarkdownNode, depth: number, from?: number, to?: number): ComponentChildren[] {
    return this.#pieces(node, depth, shownText, from, to);
  }

  #pieces(
    node: MarkdownNode,
    depth: number,
    textOf: (piece: string) => ComponentChildren,
    from?: number,
    to?: number,
  ): ComponentChildren[] {
    if (depth > MAX_DEPTH) return [shownText(this.#source.textOf(node))];
    const made: ComponentChildren[] = [];
    for (const piece of this.#source.piecesOf(node, from, to)) {
      this.#nodes++;
      this.isCut ||= this.#nodes > MAX_NODES;
      if (this.isCut) break;
      made.push(typeof piece === "string" ? textOf(piece) : this.#element(piece, depth + 1));
    }
    return made;
  }

  #element(node: MarkdownNode, depth: number): ComponentChildren {
    const { name } = node;
    if (SILENT.has(name)) return null;
    const level = /^(?:ATX|Setext)Heading([1-6])$/.exec(name)?.[1];
    if (level !== undefined) return this.#heading(node, Number(level), depth);
    switch (name) {
      case "Paragraph":
        return <p>{this.#inline(node, depth)}</p>;
      case "Blockquote":
        return <blockquote>{this.blocks(node, depth)}</blockquote>;
      case "BulletList":
        return <ul>{this.blocks(node, depth)}</ul>;
      case "OrderedList":
        return <ol start={this.#firstNumber(node)}>{this.blocks(node, depth)}</ol>;
      case "ListItem":
        return <li>{this.blocks(node, depth)}</li>;
      case "Task":
        return <p>{this.#inline(node, depth)}</p>;
      case "TaskMarker":
        return <TaskMark isDone={/x/i.test(this.#source.textOf(node))} />;
      case "HorizontalRule":
        return <hr />;
      case "FencedCode":
      case "CodeBlock":
        return this.#code(node);
      case "Table":
        return this.#table(node, depth);
      case "Emphasis":
        return <em>{this.#inline(node, depth)}</em>;
      case "StrongEmphasis":
        return <strong>{this.#inline(node, depth)}</strong>;
      case "Strikethrough":
        return <s>{this.#inline(node, depth)}</s>;
      case "InlineCode":
        return <code>{this.#inline(node, depth)}</code>;
      case "HardBreak":
        return <br />;
      case "Escape":
        return shownText(this.#source.textOf(node).slice(1));
      case "Entity":
        return this.#entity(node);
      case "Link":
        return this.#link(node, depth);
      case "Image":
        return this.#image(node);
      case "Autolink":
        return this.#inline(node, depth);
      case "URL":
        return this.#bareUrl(node);
      default:
        // HTML, and whatever else has no meaning here.
        return <span class="markdown-source">{visibleLines(this.#source.textOf(node))}</span>;
    }
  }

  #heading(node: MarkdownNode, level: number, depth: number): ComponentChildren {
    // Headings of the page stay above those of the file.
    const Tag = HEADINGS[Math.min(level, HEADINGS.length - 1)]!;
    const pieces = Array.from(this.#source.piecesOf(node), (piece) => {
      if (typeof piece === "string") return piece;
      return piece.name === "HeaderMark" ? "" : this.#source.textOf(piece);
    });
    const id = headingId(pieces.join(""));
    const before = this.#ids.get(id) ?? 0;
    this.#ids.set(id, before + 1);
    return (
      <Tag id={before === 0 ? id : `${id}-${before}`} class={`markdown-h${level}`} tabIndex={-1}>
        {this.#inline(node, depth)}
      </Tag>
    );
  }

  #firstNumber(list: MarkdownNode): number {
    const mark = list.firstChild?.getChild("ListMark");
    return mark ? Number.parseInt(this.#source.textOf(mark), 10) : 1;
  }

  #code(node: MarkdownNode): ComponentChildren {
    const text = node
      .getChildren("CodeText")
      .map((part) => this.#source.textOf(part))
      .join("");
    return (
      <pre tabIndex={0}>
        <code>{visibleLines(text.replaceAll("\t", "    ").replaceAll("\r", ""))}</code>
      </pre>
    );
  }

  #table(node: MarkdownNode, depth: number): ComponentChildren {
    const cellsOf = (row: MarkdownNode, Tag: "th" | "td"): ComponentChildren =>
      row.getChildren("TableCell").map((cell) => <Tag>{this.#inline(cell, depth + 1)}</Tag>);
    const head = node.getChild("TableHeader");
    return (
      <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead>
            <tr>{head === null ? null : cellsOf(head, "th")}</tr>
          </thead>
          <tbody>
            {node.getChildren("TableRow").map((row) => (
              <tr>{cellsOf(row, "td")}</tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  #entity(node: MarkdownNode): ComponentChildren {
    const text = this.#source.textOf(node);
    return shownText(entityText(text) ?? text);
  }

  #link(node: MarkdownNode, depth: number): ComponentChildren {
    const url = this.#source.urlOf(node);
    const { from, to } = this.#source.labelOf(node);
    // Brackets that are not a link.
    if (url === undefined) return ["[", this.#inline(node, depth, from, to), "]"];
    return <Linked url={url} directory={this.#directory} children={this.#inline(node, depth, from, to)} />;
  }

  #bareUrl(node: MarkdownNode): ComponentChildren {
    const text = this.#source.textOf(node);
    const url = text.startsWith("www.") ? `http://${text}` : text;
    return <Linked url={url} directory={this.#directory} children={shownText(text)} />;
  }

  #image(node: MarkdownNode): ComponentChildren {
    const label = shownText(this.#source.textOf(this.#source.labelOf(node)));
    const url = this.#source.urlOf(node);
    const target = url === undefined ? undefined : linkTarget(url, this.#directory);
    const isInLink = node.parent?.name === "Link";
    if (target?.kind === "file" && this.#images < MAX_IMAGES) {
      this.#images++;
      return <MarkdownImage path={target.path} label={label} isInLink={isInLink} />;
    }
    if (isInLink) return label;
    // Loading it would tell another host who reads this.
    return url === undefined ? (
      label
    ) : (
      <Linked url={url} directory={this.#directory} children={label || shownText(url)} />
    );
  }
}

interface LinkedProps {
  readonly url: string;
  readonly directory: string;
  readonly children: ComponentChildren;
}

function Linked({ url, directory, children }: LinkedProps) {
  const target = linkTarget(url, directory);
  if (target === undefined) return <span title={visibleText(url)}>{children}</span>;
  if (target.kind === "file") return <a href={addressOf(target.path)}>{children}</a>;
  if (target.kind === "heading") return <a href={`#${target.id}`}>{children}</a>;
  return (
    <a href={target.href} title={visibleText(target.href)} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

function TaskMark({ isDone }: { readonly isDone: boolean }) {
  return <input type="checkbox" checked={isDone} disabled aria-label={isDone ? "done" : "not done"} />;
}

/** Text between elements. Joiners of emoji have no meaning of their own. */
function shownText(text: string): string {
  return visibleText(text.replaceAll(/\s+/g, " ").replaceAll(/[\ufe0f\u200d]/g, ""));
}

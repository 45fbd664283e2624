import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  LanguageDescription,
  syntaxHighlighting,
} from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { LineEnding } from "../file-content.ts";
import { differenceOf } from "./save-rules.ts";

export interface CodeEditorOptions {
  readonly parent: Element;
  readonly name: string;
  /** The text on the disk. */
  readonly saved: string;
  /** The initial text, if it differs. */
  readonly text?: string | undefined;
  readonly ending: LineEnding;
  readonly isReadOnly: boolean;
  /** The text is a part of a file: its lines have no known numbers, and its language needs what is before it. */
  readonly isPart?: boolean;
  readonly isDark: boolean;
  readonly onChange: (isChanged: boolean) => void;
  readonly onCursor: (line: number, column: number) => void;
}

const STYLE = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--code-comment)" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: "var(--code-function)",
  },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: "var(--code-type)" },
  { tag: [tags.propertyName, tags.attributeName, tags.labelName], color: "var(--code-property)" },
  { tag: tags.heading, color: "var(--text)", fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--link)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

const LOOK = {
  "&": { height: "100%", color: "var(--term-text)", backgroundColor: "var(--term-page)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "var(--font-code)",
    fontSize: "var(--size-text)",
    fontVariantLigatures: "none",
    lineHeight: "1.6",
  },
  ".cm-content": { padding: "var(--space-2) 0", caretColor: "var(--term-cursor)" },
  ".cm-cursor": { borderLeftColor: "var(--term-cursor)", borderLeftWidth: "2px" },
  ".cm-gutters": {
    backgroundColor: "var(--term-page)",
    color: "var(--text-faint)",
    border: "none",
    paddingLeft: "var(--space-2)",
  },
  ".cm-lineNumbers .cm-gutterElement": { paddingRight: "var(--space-2)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--code-line)" },
  ".cm-activeLineGutter": { color: "var(--text-soft)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--term-selection)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--focus)" },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important", outline: "none" },
  ".cm-panels": { backgroundColor: "var(--page)", color: "var(--text)", borderColor: "var(--line-soft)" },
};

/** An editor in the page. Its language is loaded when the name calls for one. */
export class CodeEditor {
  readonly #view: EditorView;
  readonly #appearance = new Compartment();
  readonly #language = new Compartment();
  #saved: Text;
  #isChanged: boolean;

  constructor(options: CodeEditorOptions) {
    const state = EditorState.create({
      doc: options.saved,
      extensions: [
        // Mixed line ends are part of the text, so that none is lost.
        options.ending === "mixed" ? EditorState.lineSeparator.of("\n") : [],
        EditorState.readOnly.of(options.isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": `Text of ${options.name}`, tabindex: "0" }),
        options.isPart ? [] : [lineNumbers(), foldGutter(), highlightActiveLineGutter()],
        highlightSpecialChars(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        search({ top: true }),
        syntaxHighlighting(STYLE),
        keymap.of([...searchKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
        this.#appearance.of(appearance(options.isDark)),
        this.#language.of([]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.#reportChange(options.onChange);
          if (update.docChanged || update.selectionSet) this.#reportCursor(options.onCursor);
        }),
      ],
    });
    this.#saved = state.doc;
    this.#isChanged = false;
    this.#view = new EditorView({ state, parent: options.parent });
    if (options.text !== undefined) this.#replace(options.text);
    if (!options.isPart) void this.#loadLanguage(options.name);
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Shows the current text on the disk. The cursor stays in place. */
  reload(text: string): void {
    // Set before it is shown: text from the disk is not the user's edit.
    this.#saved = this.#view.state.toText(text);
    this.#replace(text);
    this.#isChanged = false;
  }

  /** Marks the shown text as saved, unless it has changed since. */
  saved(text: string): boolean {
    this.#saved = this.#view.state.toText(text);
    this.#isChanged = !this.#view.state.doc.eq(this.#saved);
    return !this.#isChanged;
  }

  /** What scrolls. */
  get scroller(): HTMLElement {
    return this.#view.scrollDOM;
  }

  scrollTo(edge: "start" | "end"): void {
    const { length } = this.#view.state.doc;
    const effects = EditorView.scrollIntoView(edge === "start" ? 0 : length, { y: edge });
    this.#view.dispatch({ effects });
  }

  setDark(isDark: boolean): void {
    this.#view.dispatch({ effects: this.#appearance.reconfigure(appearance(isDark)) });
  }

  focus(): void {
    this.#view.focus();
  }

  close(): void {
    this.#view.destroy();
  }

  #replace(text: string): void {
    this.#view.dispatch({ changes: differenceOf(this.text, text) });
  }

  #reportChange(onChange: (isChanged: boolean) => void): void {
    const isChanged = !this.#view.state.doc.eq(this.#saved);
    if (isChanged === this.#isChanged) return;
    this.#isChanged = isChanged;
    onChange(isChanged);
  }

  #reportCursor(onCursor: (line: number, column: number) => void): void {
    const { head } = this.#view.state.selection.main;
    const line = this.#view.state.doc.lineAt(head);
    onCursor(line.number, head - line.from + 1);
  }

  async #loadLanguage(name: string): Promise<void> {
    const description = LanguageDescription.matchFilename(languages, name);
    if (description === null) return;
    try {
      const language = await description.load();
      this.#view.dispatch({ effects: this.#language.reconfigure(language) });
    } catch {
      // Otherwise the text has no highlighting.
    }
  }
}

function appearance(isDark: boolean): Extension {
  return EditorView.theme(LOOK, { dark: isDark });
}

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The beginning of a statement. tsc indents the lines of a statement, except for closing brackets. */
const STATEMENT = /^(?=export |declare |import |interface |type |\/\*\*|\/\/|const )/m;
const DECLARATION =
  /^(?:export )?(?:declare )?(?:abstract )?(?:function|class|interface|type|const|let) (\w+)/;
const FROM = /^(import|export) (type )?(\{[\s\S]*?\}|\*(?: as \w+)?) from "([^"]+)";/;
const SPECIFIER = /(type )?(\w+)(?: as (\w+))?/g;
const VALUE = /^export declare (?:const|let|function) /;

/**
 * The declaration files that tsc has written to a folder. Their layout is always the same, so they are read as text.
 */
export class Declarations {
  #folder;
  #files = new Map();

  constructor(folder) {
    this.#folder = folder;
  }

  /** Every name that a file exports, with the declarations that it stands for. */
  exportsOf(path) {
    const { declared, reexported, everythingOf } = this.#read(path);
    const names = new Map();
    for (const from of everythingOf) for (const [name, found] of this.exportsOf(from)) names.set(name, found);
    for (const [name, { from, original, isType }] of reexported) {
      const found = this.exportsOf(from).get(original) ?? [];
      names.set(name, isType ? found.filter(({ text }) => !VALUE.test(text)) : found);
    }
    for (const [name, texts] of declared) {
      const exported = texts.filter((text) => text.startsWith("export "));
      if (exported.length > 0)
        names.set(
          name,
          exported.map((text) => ({ path, name, text })),
        );
    }
    return names;
  }

  /** The declarations of the package that a declaration refers to. */
  referencesOf({ path, text: whole }) {
    const { declared, imported } = this.#read(path);
    // Users do not call constructors; their parameters are internals of the library.
    const text = whole.replace(/^ {4}constructor\([\s\S]*?\);$/m, "");
    return [...new Set(text.match(/\b[A-Z]\w+/g))].flatMap((name) => {
      const { from, original } = imported.get(name) ?? { from: path, original: name };
      if (from !== path) return this.exportsOf(from).get(original) ?? [];
      return (declared.get(name) ?? []).map((found) => ({ path, name, text: found }));
    });
  }

  #read(path) {
    if (!this.#files.has(path))
      this.#files.set(path, parse(path, readFileSync(join(this.#folder, path), "utf8")));
    return this.#files.get(path);
  }
}

function parse(path, text) {
  const file = { declared: new Map(), imported: new Map(), reexported: new Map(), everythingOf: [] };
  for (const statement of publicPartOf(text).split(STATEMENT)) {
    const [, keyword, type, names, specifier] = FROM.exec(statement) ?? [];
    if (keyword === undefined) {
      const [, name] = DECLARATION.exec(statement) ?? [];
      if (name !== undefined) file.declared.set(name, [...(file.declared.get(name) ?? []), statement.trim()]);
    } else if (specifier.startsWith(".")) {
      const from = join(dirname(path), specifier.replace(/\.[jt]s$/, ".d.ts"));
      if (names === "*") file.everythingOf.push(from);
      const table = keyword === "import" ? file.imported : file.reexported;
      for (const [, typeOnly, original, alias = original] of names.matchAll(SPECIFIER))
        table.set(alias, { from, original, isType: (type ?? typeOnly) !== undefined });
    }
  }
  return file;
}

/** Comments, descriptions and private members are not part of the interface, but that a member is deprecated is. */
function publicPartOf(text) {
  return text
    .replace(/^([ \t]*)\/\*\*[\s\S]*?\*\/[ \t]*\n/gm, (comment, indent) =>
      indent !== "" && comment.includes("@deprecated") ? `${indent}/** @deprecated */\n` : "",
    )
    .replace(/^[ \t]*(?:#private;|private .*|readonly doc: ".*";)\n/gm, "")
    .replace(/^\/\/.*\n/gm, "");
}

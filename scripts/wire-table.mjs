// Makes the inspector's table of the wire: every request with its description, who may send it, and the shape of its
// parameters, from which forms are drawn.
import { build } from "esbuild";
import { loadProtocol } from "./load-protocol.mjs";

/** Kinds of text that forms have fields of their own for. */
const FORMATS = ["Base64", "PathUri"];

/** One entry for each request, in the order of the wire table. */
export async function makeWireTable() {
  const [{ index, fields }, { PRESET_RIGHTS }] = await Promise.all([loadProtocol(), loadPresets()]);
  const shapes = new ShapeMaker(fields);
  return Object.entries(index.methods).map(([name, method]) => ({
    name,
    doc: method.doc,
    right: method.right,
    presets: Object.entries(PRESET_RIGHTS)
      .filter(([, rights]) => rights.has(method.right))
      .map(([preset]) => preset),
    ...(method.alsoNeeds === undefined ? {} : { alsoNeeds: method.alsoNeeds }),
    ...(method.extension ? { extension: true } : {}),
    params: shapes.of(method.params),
  }));
}

async function loadPresets() {
  const { outputFiles } = await build({
    entryPoints: ["src/server/settings/presets.ts"],
    absWorkingDir: new URL("..", import.meta.url).pathname,
    bundle: true,
    write: false,
    format: "esm",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

class ShapeMaker {
  #fields;

  constructor(fields) {
    this.#fields = fields;
  }

  of(schema) {
    if (this.#comesFrom(schema, "NoParams")) return { kind: "none" };
    const doc = schema.description;
    const bare = this.#bare(schema);
    // What a format means is said once, by its field.
    const isKnown =
      bare.format !== undefined && FORMATS.some((name) => this.#fields[name]().description === doc);
    return { ...bare, ...(doc === undefined || isKnown ? {} : { doc }) };
  }

  #bare(schema) {
    if (this.#comesFrom(schema, "Base64")) return { kind: "text", format: "base64" };
    if (this.#comesFrom(schema, "PathUri")) return { kind: "text", format: "path" };
    if (this.#comesFrom(schema, "Unsigned")) return { kind: "number", whole: true, least: 0 };
    const { def } = schema;
    switch (def.type) {
      case "string":
        return { kind: "text" };
      case "boolean":
        return { kind: "switch" };
      case "number":
        return numberShape(schema);
      case "unknown":
        return { kind: "any" };
      case "enum":
        return { kind: "choice", values: Object.values(def.entries) };
      case "literal":
        return { kind: "choice", values: [...def.values] };
      case "nullable":
        return { ...this.of(def.innerType), nullable: true };
      case "array":
        return { kind: "list", item: this.of(def.element) };
      case "custom":
        return { kind: "map", value: this.of(schema.meta().valueType) };
      case "union":
        return { kind: "union", options: def.options.map((option) => this.of(option)) };
      case "object":
        return { kind: "object", members: Object.entries(schema.shape).map((entry) => this.#member(entry)) };
      default:
        throw new Error(`a schema of type ${def.type} has no form yet`);
    }
  }

  #member([name, schema]) {
    let inner = schema;
    while (inner.def.type === "optional") inner = inner.def.innerType;
    const shape = this.of(inner);
    const doc = inner === schema ? undefined : schema.description;
    return {
      name,
      ...(inner === schema ? { required: true } : {}),
      shape: { ...shape, ...(doc === undefined ? {} : { doc }) },
    };
  }

  /** `describe` copies a schema; the copy still stands for the original. */
  #comesFrom(schema, name) {
    const origin = this.#fields[name]();
    for (let current = schema; current !== undefined; current = current._zod.parent)
      if (current === origin) return true;
    return false;
  }
}

function numberShape({ format, minValue, maxValue }) {
  const isBound = (value) => value !== null && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  return {
    kind: "number",
    ...(format === "safeint" ? { whole: true } : {}),
    ...(isBound(minValue) ? { least: minValue } : {}),
    ...(isBound(maxValue) ? { most: maxValue } : {}),
  };
}

// Writes src/client/calls/wire-shapes.ts from the wire table: the shapes against which a client checks answers and
// notifications, and what it needs to know of each method, without the schema library. With `--check` it writes nothing
// and fails if the file on disk is out of date.
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { loadProtocol } from "./load-protocol.mjs";

const TARGET = new URL("../src/client/calls/wire-shapes.ts", import.meta.url);
const BIOME = fileURLToPath(new URL("../node_modules/.bin/biome", import.meta.url));
/** A shorter shape is clearer where it is. */
const MIN_SHARED_CHARACTERS = 60;
/** A client ignores all other notifications. */
const READ_NOTIFICATIONS = [
  "process/output",
  "process/exited",
  "process/closed",
  "process/gap",
  "process/started",
  "fs/watch/changed",
  "http/request/bodyDelta",
];

const modules = await loadProtocol();
const { methods, notifications, serverMethods } = modules.index;
const { Seq, Unsigned } = modules.fields;

/** `describe` copies a schema; the copy still stands for the original. */
function comesFrom(schema, origin) {
  for (let current = schema; current !== undefined; current = current._zod.parent)
    if (current === origin) return true;
  return false;
}

function shapeOf(schema) {
  if (comesFrom(schema, Seq())) return "seq";
  if (comesFrom(schema, Unsigned())) return "unsigned";
  const { def } = schema;
  switch (def.type) {
    case "string":
      // An id comes back as the client chose it.
      if ((def.checks ?? []).some(({ _zod }) => _zod.def.check !== "max_length"))
        throw new Error("a string in an answer has a check without a shape");
      return "string";
    case "boolean":
      return "boolean";
    case "number":
      return numberShape(schema);
    case "literal":
    case "enum": {
      const values = def.type === "enum" ? Object.values(def.entries) : def.values;
      return values.length === 1 && values[0] === true ? "true" : ["enum", ...values];
    }
    case "nullable":
      return ["nullable", shapeOf(def.innerType)];
    case "array":
      return ["array", shapeOf(def.element)];
    case "object":
      return Object.fromEntries(
        Object.entries(schema.shape).map(([key, member]) => memberShape(key, member)),
      );
    default:
      throw new Error(`a schema of type ${def.type} has no shape yet`);
  }
}

function numberShape(schema) {
  const isBounded = schema.maxValue < Number.MAX_SAFE_INTEGER || schema.minValue > Number.MIN_SAFE_INTEGER;
  if (schema.format === "safeint" && schema.minValue === 0) return "unsigned";
  if (schema.format === "safeint") {
    if (isBounded) throw new Error("a bounded integer has no shape yet");
    return "integer";
  }
  if (schema.minValue === 0 && schema.maxValue === Number.POSITIVE_INFINITY) return "amount";
  if (Number.isFinite(schema.minValue) || Number.isFinite(schema.maxValue))
    throw new Error("a bounded number has no shape yet");
  return "number";
}

/** An optional member is marked at its name. */
function memberShape(key, schema) {
  const isOptional = schema.def.type === "optional";
  return [isOptional ? `${key}?` : key, shapeOf(isOptional ? schema.def.innerType : schema)];
}

/** Shapes that are written once, by their JSON: the name of the constant that holds them. */
const shared = new Map();

/** Finds objects of some size that occur in several places. `name` is that of the member that has the shape. */
function share(shape, name, seen) {
  if (typeof shape !== "object") return;
  const json = JSON.stringify(shape);
  if (Array.isArray(shape)) {
    for (const part of shape.slice(1)) share(part, name, seen);
  } else if (!seen.has(json)) {
    seen.set(json, name);
    for (const [key, member] of Object.entries(shape)) share(member, key.replace("?", ""), seen);
  } else if (json.length > MIN_SHARED_CHARACTERS) {
    shared.set(json, seen.get(json));
  }
}

/** Source text of a shape, or of a table of them. */
function write(value, isDefinition = false) {
  const name = isDefinition ? undefined : shared.get(JSON.stringify(value));
  if (name !== undefined) return name;
  if (Array.isArray(value)) return `[${value.map((part) => write(part)).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => {
    const text = write(member);
    if (key === text) return key;
    return `${/^\w+$/.test(key) ? key : JSON.stringify(key)}: ${text}`;
  });
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function writeTable(table) {
  const entries = Object.entries(table).map(([name, value]) => `"${name}": ${write(value)}`);
  return `{ ${entries.join(", ")} }`;
}

function render() {
  const methodTable = mapValues(methods, ({ lost, answers, params, result }, name) => {
    const isSandboxed = name.startsWith("fs/") && "sandbox" in params.shape;
    return { lost, answers, ...(isSandboxed && { sandboxed: true }), result: shapeOf(result) };
  });
  const asked = mapValues(serverMethods, ({ params }) => shapeOf(params));
  const read = Object.fromEntries(READ_NOTIFICATIONS.map((name) => [name, notifications[name]]));
  const notified = mapValues(read, ({ params }) => shapeOf(params));
  const seen = new Map();
  for (const { result } of Object.values(methodTable)) share(result, "result", seen);
  for (const shape of [...Object.values(asked), ...Object.values(notified)]) share(shape, "params", seen);
  // The shorter first, because a shape may contain another one.
  const constants = [...shared]
    .sort(([one], [other]) => one.length - other.length)
    .map(([json, name]) => `const ${name}: Shape = ${write(JSON.parse(json), true)};`);
  const text = `// Generated by scripts/generate-wire-shapes.mjs from src/protocol. Do not edit: run npm run docs.
import type { MethodName } from "../../protocol/index.ts";
import type { MethodFacts, Shape } from "./wire-shape.ts";

${constants.join("\n")}

/** What a client needs to know of each method. */
export const methodFacts: Readonly<Record<MethodName, MethodFacts>> = ${writeTable(methodTable)};

/** What the requests of a server carry. */
export const requestShapes = ${writeTable(asked)} as const satisfies Readonly<Record<string, Shape>>;

/** What the notifications carry that a client reads. */
export const notificationShapes = ${writeTable(notified)} as const satisfies Readonly<Record<string, Shape>>;
`;
  const formatted = spawnSync(BIOME, ["format", "--stdin-file-path=src/client/calls/wire-shapes.ts"], {
    input: text,
    encoding: "utf8",
  });
  if (formatted.status !== 0) throw new Error(`biome failed: ${formatted.stderr}`);
  return formatted.stdout;
}

function mapValues(table, change) {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, change(value, name)]));
}

const text = render();
if (!process.argv.includes("--check")) {
  await writeFile(TARGET, text);
} else if ((await readFile(TARGET, "utf8").catch(() => undefined)) !== text) {
  console.error("src/client/calls/wire-shapes.ts differs from the wire table: run npm run docs");
  process.exitCode = 1;
}

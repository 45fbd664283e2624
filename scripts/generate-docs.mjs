// Writes docs/protocol.md from the wire table and docs/guide/configuration.md from the table of limits.
// With `--check` it writes nothing and fails if a file on disk is out of date.
import { readFile, writeFile } from "node:fs/promises";
import { renderConfigurationPage } from "./configuration-page.mjs";
import { loadProtocol } from "./load-protocol.mjs";

const root = new URL("..", import.meta.url);
const check = process.argv.includes("--check");

const modules = await loadProtocol();
const { methods, serverMethods, notifications } = modules.index;

const errorMeanings = {
  invalidRequest:
    "The handshake is not complete; a process or session is unknown; an id is in use; permission was denied; or the message could not be parsed (then the id is -1)",
  methodNotFound: "The server does not implement this method",
  invalidParams: "The parameters do not match the shape on this page, or a value is invalid",
  internal:
    "The machine failed: a program did not start, an OS error occurred, or an HTTP request got no answer",
  notFound: "A path or an open file does not exist",
  sessionAttached: "The session to resume still has a connection; retry soon",
  limit:
    "A configured limit of this server was reached: `data` holds the code `LIMIT_REACHED`, the `limit` and its `value`. Codex has no such limits",
};

const limitMeanings = {
  MAX_JSON_VALUES:
    "Maximum number of JSON values in one message; objects, arrays and scalars count, keys do not",
  MAX_TEXT_CHARACTERS: "Maximum text of one request, all its strings and keys together, data in base64 apart",
  MAX_DIFFERENT_KEYS: "Maximum number of different keys in one message, all its objects together",
  MAX_ID_CHARACTERS:
    "Maximum length of an id that the client chooses: of a process, a watch, an HTTP request",
  MAX_MESSAGE_BYTES:
    "Maximum size of one message: all fragments of a WebSocket message, or one line on stdio",
  MAX_FRAME_BYTES: "Maximum size of one WebSocket frame; a longer message must be sent in fragments",
  MAX_SENT_FRAME_BYTES: "Maximum size of one WebSocket frame that this server sends",
  PING_INTERVAL_MS: "Interval between pings from the server",
  DETACHED_SESSION_TTL_MS: "Time a session waits for a new connection before its processes are killed",
  EXITED_PROCESS_RETENTION_MS:
    "Time after `process/closed` during which a process can still be read and its id cannot be reused",
  MAX_RETAINED_BYTES: "Output kept for `process/read`, per process; the oldest chunks are evicted first",
  MAX_RETAINED_CHUNKS: "Chunks of output kept for `process/read`, per process",
  MAX_REMEMBERED_WRITE_IDS: "Number of accepted write ids remembered per process",
  TERMINAL_ROWS: "Rows of a new terminal",
  TERMINAL_COLUMNS: "Columns of a new terminal",
  MALFORMED_MESSAGE_ID: "Id of the answer to a message that could not be parsed",
  SESSION_TAKEN_CLOSE_CODE: "Close code of a WebSocket whose session another connection has taken over",
  CREDENTIAL_ENDED_CLOSE_CODE:
    "Close code of a WebSocket whose token has expired or was withdrawn, or whose rights have changed",
  SESSION_OVER_CLOSE_CODE:
    "Close code with which a client says that it will not resume its session, which then ends. Extension",
};

const groupTitles = {
  initialize: "Session",
  process: "Processes",
  environment: "Environment",
  environmentConfig: "Environment",
  fs: "Files",
  capabilityRoots: "Discovery",
  capabilities: "Discovery",
  http: "HTTP",
  command: "Processes (dialect v0)",
};

const scalarNotes = { Unsigned: "Whole number, 0 or greater; 64 bits on the wire" };

/** Schemas are built on demand by arrow functions named like types. */
const isSchemaBuilder = (name, value) =>
  /^[A-Z]/.test(name) && typeof value === "function" && value.prototype === undefined;

const schemasOf = (module) =>
  Object.entries(module)
    .filter(([name, value]) => isSchemaBuilder(name, value))
    .map(([name, build]) => [name, build()]);

const nameOf = new Map();
for (const module of Object.values(modules))
  for (const [name, schema] of schemasOf(module)) if (!nameOf.has(schema)) nameOf.set(schema, name);

const { NoParams, ...scalars } = Object.fromEntries(schemasOf(modules.fields));
const scalarSchemas = new Set(Object.values(scalars).filter(({ def }) => def.type !== "object"));

/** Types that the page refers to by name, collected while it is rendered. */
const referenced = new Map();

// Inside a code span only the column separator needs an escape.
const escapeText = (text) => text.replace(/`[^`]*`|\*/g, (part) => (part === "*" ? "\\*" : part));
const escapeCell = (text) => escapeText(text).replaceAll("|", "\\|").replaceAll("\n", " ");
const code = (text) => `\`${text}\``;
const slug = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
const methodLink = (name) => `[${code(name)}](#${slug(name)})`;

function typeLink(name, schema) {
  referenced.set(name, schema);
  return `[${code(name)}](#type-${slug(name)})`;
}

/** `describe` and `refine` copy a schema; the copy still stands for the original type. */
function named(schema) {
  for (let current = schema; current !== undefined; current = current._zod.parent) {
    const linked = scalarSchemas.has(current) || ["object", "union"].includes(current.def.type);
    if (linked && nameOf.has(current)) return { name: nameOf.get(current), schema: current };
  }
  return undefined;
}

function unwrap(schema) {
  let description;
  let required = true;
  let nullable = false;
  let current = schema;
  for (;;) {
    // A named type shows its description in its own section.
    if (!nameOf.has(current)) description ??= current.description;
    if (current.def.type === "optional") required = false;
    else if (current.def.type === "nullable") nullable = true;
    else return { schema: current, description: description ?? "", required, nullable };
    current = current.def.innerType;
  }
}

const oneOf = (items) =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1)}`;
const quoted = (value) => code(JSON.stringify(value));

function numberType(schema) {
  const bounded = schema.maxValue !== null && schema.maxValue < Number.MAX_SAFE_INTEGER;
  const integer = schema.format === "safeint";
  return `${code(integer ? "integer" : "number")}${bounded ? ` from ${schema.minValue} to ${schema.maxValue}` : ""}`;
}

function typeText(outer) {
  const { schema, nullable } = unwrap(outer);
  const text = bareType(schema);
  if (!nullable) return text;
  return `${text}${text.includes(" ") ? "," : ""} or ${code("null")}`;
}

const innerType = (schema) => {
  const text = typeText(schema);
  return text.includes(" or ") ? `(${text})` : text;
};

function bareType(schema) {
  const known = named(schema);
  if (known !== undefined) return typeLink(known.name, known.schema);
  const { def } = schema;
  switch (def.type) {
    case "string":
    case "boolean":
    case "null":
      return code(def.type);
    case "unknown":
      return "any JSON";
    case "number":
      return numberType(schema);
    case "enum":
      return oneOf(Object.values(def.entries).map(quoted));
    case "literal":
      return oneOf(def.values.map(quoted));
    case "array":
      return `array of ${innerType(def.element)}`;
    case "custom":
      return `map of ${code("string")} to ${innerType(schema.meta().valueType)}`;
    case "object":
      return code("object");
    case "union":
      return oneOf(def.options.map(typeText));
    default:
      throw new Error(`a schema of type ${def.type} has no notation yet`);
  }
}

/** For an unnamed object, or a list of them: the object whose members become rows of their own. */
function inlineObject(schema) {
  if (named(schema) !== undefined) return undefined;
  if (schema.def.type === "object") return { object: schema, suffix: "" };
  if (schema.def.type !== "array") return undefined;
  const inner = inlineObject(unwrap(schema.def.element).schema);
  return inner && { object: inner.object, suffix: `[]${inner.suffix}` };
}

function rows(object, { prefix = "", extensions = [] } = {}) {
  return Object.entries(object.shape).flatMap(([key, value]) => {
    const { schema, description, required } = unwrap(value);
    const path = prefix + key;
    const meaning =
      value.meta()?.extension || extensions.includes(path)
        ? `${description ? `${description}. ` : ""}Extension`
        : description;
    const cells = [code(path), typeText(value), required ? "yes" : "no", meaning];
    const row = `| ${cells.map(escapeCell).join(" | ")} |`;
    const inner = inlineObject(schema);
    return inner === undefined ? [row] : [row, ...rows(inner.object, { prefix: `${path}${inner.suffix}.` })];
  });
}

const table = (object, column, extensions) => [
  `| Name | Type | ${column} | Meaning |`,
  "| --- | --- | --- | --- |",
  ...rows(object, { extensions }),
];

function unionTable({ def }) {
  const others = (option) =>
    Object.entries(option.shape)
      .filter(([key]) => key !== def.discriminator)
      .map(([key, value]) => {
        const { description, required } = unwrap(value);
        const notes = [typeText(value), required ? "" : "optional", description].filter(Boolean).join("; ");
        return `${code(key)} (${notes})`;
      })
      .join(", ");
  const lines = def.options.map((option) => {
    const cells = [typeText(option.shape[def.discriminator]), others(option), option.description ?? ""];
    return `| ${cells.map(escapeCell).join(" | ")} |`;
  });
  return [`| ${code(def.discriminator)} | Other members | Meaning |`, "| --- | --- | --- |", ...lines];
}

function shapeSection(title, schema, column, extensions) {
  if (schema === NoParams)
    return [`${title}: none; absent, ${code("null")} and ${code("{}")} are equivalent.`];
  if (schema.def.type === "unknown") return [`${title}: ignored.`];
  const known = named(schema);
  if (known !== undefined && referenced.has(known.name))
    return [`${title}: ${typeLink(known.name, known.schema)}.`];
  if (Object.keys(schema.shape).length === 0) return [`${title}: ${code("{}")}.`];
  return [`${title}:`, "", ...table(schema, column, extensions)];
}

function methodSection([name, definition]) {
  const facts = [
    definition.family === null ? "" : `Family: ${definition.family}.`,
    definition.lane === undefined ? "" : `Lane: ${definition.lane}.`,
    definition.extension ? "Extension: not part of Codex." : "",
  ].filter(Boolean);
  return [
    `### ${name}`,
    "",
    definition.doc,
    ...(facts.length > 0 ? ["", facts.join(" ")] : []),
    "",
    ...shapeSection("Parameters", definition.params, "Required", definition.extensionParams),
    "",
    ...shapeSection("Result", definition.result, "Always there"),
    "",
  ];
}

function methodGroups() {
  const groups = new Map();
  for (const entry of Object.entries(methods)) {
    const prefix = entry[0].split("/")[0];
    const title = groupTitles[prefix] ?? prefix;
    groups.set(title, [...(groups.get(title) ?? []), entry]);
  }
  return [...groups].flatMap(([title, entries]) => [`## ${title}`, "", ...entries.flatMap(methodSection)]);
}

function notificationSection([name, definition]) {
  const direction = definition.from === "client" ? "client to server" : "server to client";
  return [
    `### ${name}`,
    "",
    `Direction: ${direction}. ${definition.doc}`,
    "",
    ...shapeSection("Parameters", definition.params, "Always there"),
    "",
  ];
}

function typeSection([name, schema]) {
  const heading = [`### type ${name}`, ""];
  const text = schema.description ?? scalarNotes[name];
  const intro = text === undefined ? [] : [`${text}.`, ""];
  if (schema.def.type === "object") return [...heading, ...intro, ...table(schema, "Required"), ""];
  if (schema.def.type === "union") return [...heading, ...intro, ...unionTable(schema), ""];
  if (text === undefined) throw new Error(`the type ${name} needs a description`);
  return [...heading, `A ${code(schema.def.type)}. ${text}.`, ""];
}

/** Rendering a type may reference further types. */
function typeSections() {
  const done = new Map();
  for (let pending = [...referenced]; pending.length > 0; ) {
    for (const entry of pending) done.set(entry[0], typeSection(entry));
    pending = [...referenced].filter(([name]) => !done.has(name));
  }
  return [...done].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, lines]) => lines);
}

/** Rows in the order of the meanings, because a module lists its exports alphabetically. */
function meaningRows(title, values, meanings, cells) {
  const different = [...Object.keys(values), ...Object.keys(meanings)].filter(
    (key) => !(key in values && key in meanings),
  );
  if (different.length > 0)
    throw new Error(`${title} and their meanings in this script differ: ${different.join(", ")}`);
  return Object.entries(meanings).map(
    ([key, meaning]) => `| ${cells(key, values[key]).join(" | ")} | ${escapeCell(meaning)} |`,
  );
}

function introduction() {
  const { MAX_MESSAGE_BYTES, MAX_FRAME_BYTES, DETACHED_SESSION_TTL_MS, MALFORMED_MESSAGE_ID } =
    modules.wire_limits;
  const mebibytes = (bytes) => `${bytes / 1024 / 1024} MiB`;
  return `<!-- Generated by scripts/generate-docs.mjs from src/protocol. Do not edit: run npm run docs. -->

# Protocol

The wire protocol, for authors of clients and servers. This page is generated from the table that validates every
message of this server.

## Messages

A message is one JSON object: a WebSocket message (text or binary), or one line on stdio. It may be up to
${mebibytes(MAX_MESSAGE_BYTES)} long, a single WebSocket frame up to ${mebibytes(MAX_FRAME_BYTES)}. There are four
kinds, distinguished by their members:

| Kind | Form |
| --- | --- |
| Request | \`{"id", "method", "params"?, "trace"?}\` |
| Notification | \`{"method", "params"?}\` |
| Response | \`{"id", "result"}\` |
| Error | \`{"id", "error": {"code", "message", "data"?}}\` |

An \`id\` is a string or a 64-bit integer, and is echoed exactly. Each side numbers its own requests. A \`jsonrpc\` member
is neither required nor sent; batches are not supported. A receiver ignores unknown members, in the message and in its
parameters.

A message that cannot be parsed is answered with an error whose id is ${MALFORMED_MESSAGE_ID}; the connection stays
open. A server ends the connection without an answer when it receives a notification other than \`initialized\`, a
response to a request it did not send, or a message that exceeds the limits.

Bytes are encoded as base64, paths as \`file:\` URIs. If a type says "or \`null\`" and the member is not required, omitting
it and sending \`null\` are equivalent.

## Handshake and sessions

\`\`\`
client  {"id":1,"method":"initialize","params":{"clientName":"example"}}
server  {"id":1,"result":{"sessionId":"0b0e…","environmentInfo":{"shell":{"name":"bash","path":"/bin/bash"}}}}
client  {"method":"initialized","params":{}}
\`\`\`

The \`sessionId\` comes from the server, in the result of \`initialize\`. It is random, unique to the session, and all that
is needed to resume it, so treat it as a secret.

Until the handshake is complete, every other method is refused with
\`client must call initialize before using FAMILY methods\` or \`client must send initialized before using FAMILY methods\`;
each method below names its family. Parameters are checked first.

Processes belong to the session, not to the connection. When a connection is lost, its session survives for
${DETACHED_SESSION_TTL_MS / 1000} seconds. To resume it, send \`initialize\` with \`resumeSessionId\` on a new connection,
then \`process/read\` with the last \`seq\` you saw for each process, and order events by \`seq\`, because live notifications
may arrive first. On stdio a session cannot be resumed: the end of input ends it. Open files, watches and streamed HTTP
bodies belong to the connection and end with it.

Requests may be sent without waiting for earlier answers. A server that runs several at once has a separate lane for the
methods marked "Lane: control", so that long requests do not hold them up; answers may then arrive in a different order.`;
}

function overview() {
  const entries = Object.entries(methods).map(
    ([name, { doc }]) => `| ${methodLink(name)} | ${escapeCell(doc)} |`,
  );
  return ["## Methods", "", "| Method | What it does |", "| --- | --- |", ...entries, ""];
}

function renderBody() {
  return [
    ...methodGroups(),
    "## Requests from the server",
    "",
    "The server numbers these requests itself. A client that does not implement a method answers with an error.",
    "",
    ...Object.entries(serverMethods).flatMap(methodSection),
    "## Notifications",
    "",
    ...Object.entries(notifications).flatMap(notificationSection),
  ];
}

function renderPage() {
  // References in later sections decide whether an earlier section shows a table or a link, so render twice.
  renderBody();
  typeSections();
  const body = renderBody();
  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, " ");
  const lines = [
    introduction(),
    "",
    ...overview(),
    ...body,
    "## Types",
    "",
    ...typeSections(),
    "## Error codes",
    "",
    "| Code | Name | Meaning |",
    "| --- | --- | --- |",
    ...meaningRows("error codes", modules.errors.RpcCode, errorMeanings, (key, value) => [
      code(value),
      code(key),
    ]),
    "",
    "## Limits",
    "",
    "| Name | Value | Meaning |",
    "| --- | --- | --- |",
    ...meaningRows("limits", modules.wire_limits, limitMeanings, (key, value) => [code(key), grouped(value)]),
  ];
  return `${lines.join("\n")}\n`;
}

async function put(path, text) {
  const page = new URL(path, root);
  if (!check) {
    await writeFile(page, text);
    return;
  }
  const onDisk = await readFile(page, "utf8").catch(() => undefined);
  if (onDisk === text) return;
  const state = onDisk === undefined ? "is missing" : "differs from its table";
  console.error(`${path} ${state}: run npm run docs`);
  process.exitCode = 1;
}

await put("docs/protocol.md", renderPage());
await put("docs/guide/configuration.md", await renderConfigurationPage());

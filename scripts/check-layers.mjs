// Checks the imports of src/ against the layer table in docs/architecture.md, and that the entries of every folder
// import each other in one direction. A circle of files would be a circle of entries in the folder that holds them all.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

/** Per layer: the layers, single files and packages it may import besides itself. */
const ALLOWED = {
  base: [],
  protocol: ["base", "zod"],
  transport: ["base", "protocol/envelope.ts", "protocol/wire-limits.ts", "node:*", "ws"],
  fleet: ["base", "protocol/wire-limits.ts", "transport", "node:*", "@nats-io/transport-node"],
  noise: ["base", "node:*", "@noble/post-quantum"],
  relay: ["base", "noise", "protocol/wire-limits.ts", "transport", "node:*", "ws"],
  rpc: ["base", "protocol", "transport/transport.ts", "zod"],
  client: [
    "base",
    "protocol",
    "transport",
    "rpc",
    "fleet/fleet-address.ts",
    "fleet/reach.ts",
    "fleet/fleet-link.ts",
    "fleet/beat.ts",
    "relay/reach.ts",
    "node:*",
  ],
  bridge: ["base", "protocol", "transport", "rpc", "client"],
  mcp: ["base", "protocol", "transport", "client", "node:*", "@modelcontextprotocol/server"],
  rows: [
    "base",
    "protocol",
    "transport",
    "rpc",
    "client",
    "node:*",
    "ajv",
    "csv-parse",
    "csv-stringify",
    "eventsource-parser",
    "undici",
  ],
  native: ["base", "node:*", "koffi"],
  capabilities: [
    "base",
    "native",
    "node:*",
    "@xterm/addon-unicode11",
    "@xterm/headless",
    "smol-toml",
    "undici",
    "yaml",
  ],
  server: [
    "base",
    "protocol",
    "transport",
    "rpc",
    "fleet",
    "relay",
    "noise",
    "native",
    "capabilities",
    // Previews use their server as every client does, with a client's rights.
    "client/calls/caller.ts",
    "client/calls/wire-check.ts",
    "client/link/connectors.ts",
    "client/link/handshake.ts",
    "client/tcp/tcp-stream.ts",
    // Each session of an MCP client is a client of the server in which it is.
    "mcp/serve-http.ts",
    "mcp/tool-options.ts",
    "node:*",
    "jose",
    "prom-client",
    "smol-toml",
  ],
  // A page as any other: what it needs of the library, every page can have.
  console: [
    "client/browser.ts",
    // How any page shows its token.
    "base/subprotocol-token.ts",
    // What any program shows of names that others chose.
    "base/visible-text.ts",
    // What one sequence may cost an emulator, here and on the server.
    "base/emulator-bounds.ts",
    // How sizes and durations are written, here and in a terminal.
    "base/amounts.ts",
    // Where the results of a job go, as the command line has it.
    "base/results-path.ts",
    // Small tools that the client has in the page already.
    "base/base64.ts",
    "base/deadlines.ts",
    "base/join-bytes.ts",
    "preact",
    "@preact/signals",
    "@xterm",
    "@codemirror",
    "@lezer/highlight",
    "@lezer/markdown",
    "uplot",
  ],
  cli: [
    "base",
    "protocol",
    "transport",
    "fleet/fleet-address.ts",
    "rpc",
    "native",
    "capabilities",
    "server",
    "client",
    "rows",
    "mcp",
    "bridge",
    "fleet/dial-error.ts",
    "fleet/labels.ts",
    "fleet/open-bus.ts",
    "fleet/subjects.ts",
    "noise",
    "relay",
    // Messages to the page of a fleet.
    "console/fleet/fleet-messages.ts",
    "node:*",
    "commander",
    "ignore",
    "smol-toml",
  ],
};

/** Files that also run in a browser must not import Node modules, whatever their layer allows. */
const ISOMORPHIC =
  /^(?:transport\/(?:transport|memory|send-queue|websocket\/browser-websocket)|client\/(?!(?:index|link\/client-tls|host\/(?:connect|local|fleet|executor|pick-executor)|files\/local\/.*)\.ts).*)/;

/** Handlers reach files only through locations that `server/files/locations.ts` creates from the paths of the wire. */
const HANDLERS = /^server\/(?:clients\/|files\/(?!locations\.ts|confined\/)|\w+\/[\w-]*handlers\.ts)/;
const BESIDE_THE_DOOR = [
  "capabilities/files/allowed-roots.ts",
  "capabilities/files/file-access.ts",
  "capabilities/files/link-walk.ts",
  "capabilities/files/location.ts",
  "capabilities/files/native-path.ts",
  "capabilities/files/no-follow.ts",
];

const IMPORT = /^(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;

const faults = [];
// A rule about a file that has moved would hold for nothing.
for (const path of [...Object.values(ALLOWED).flat(), ...BESIDE_THE_DOOR])
  if (path.endsWith(".ts") && !existsSync(join(SOURCE, path)))
    faults.push(`scripts/check-layers.mjs: src/${path} does not exist`);

/** Per folder: which of its entries import which others, and the imports. */
const arrows = new Map();
for (const entry of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
  if (!/\.tsx?$/.test(entry) || entry.endsWith(".test.ts")) continue;
  const layer = entry.split("/")[0];
  const allowed = ALLOWED[layer];
  if (allowed === undefined) faults.push(`src/${entry}: there is no layer called ${layer}`);
  else check(entry, layer, allowed);
}

function check(file, layer, allowed) {
  const text = readFileSync(join(SOURCE, file), "utf8");
  for (const match of text.matchAll(IMPORT)) {
    const specifier = match[1] ?? match[2] ?? match[3];
    const target = specifier.startsWith(".")
      ? relative(SOURCE, join(SOURCE, dirname(file), specifier))
      : specifier;
    if (specifier.startsWith(".")) addArrow(file, target);
    const isNode = target.startsWith("node:");
    const fits =
      target.startsWith(`${layer}/`) ||
      allowed.some(
        (rule) => target === rule || target.startsWith(`${rule}/`) || (rule === "node:*" && isNode),
      );
    const isType = match[0].startsWith("import type ");
    const isBesideTheDoor = target.startsWith("node:fs") || BESIDE_THE_DOOR.includes(target);
    if (HANDLERS.test(file) && isBesideTheDoor && !isType)
      faults.push(
        `src/${file} may not import ${target}: a path becomes a location in server/files/locations.ts alone`,
      );
    if (!fits || (isNode && ISOMORPHIC.test(file))) faults.push(`src/${file} may not import ${target}`);
  }
}

/** An import is an arrow in the one folder that holds both ends in different entries. */
function addArrow(file, target) {
  const from = file.split("/");
  const to = target.split("/");
  const depth = from.findIndex((name, index) => name !== to[index]);
  const folder = ["src", ...from.slice(0, depth)].join("/");
  const entries = arrows.get(folder) ?? new Map();
  const targets = entries.get(from[depth]) ?? new Map();
  const imports = targets.get(to[depth]) ?? [];
  imports.push(`src/${file} imports src/${target}`);
  arrows.set(folder, entries.set(from[depth], targets.set(to[depth], imports)));
}

/** Whether imports lead from one entry of a folder to another, directly or through others. */
function leads(entries, from, to) {
  const reached = new Set([from]);
  for (const entry of reached) for (const next of entries.get(entry)?.keys() ?? []) reached.add(next);
  return reached.has(to);
}

for (const [folder, entries] of arrows) {
  const back = [...entries].flatMap(([from, targets]) =>
    [...targets].filter(([to]) => leads(entries, to, from)).map(([to, imports]) => ({ from, to, imports })),
  );
  // A recently added arrow is usually among those of the fewest imports.
  const fewest = Math.min(...back.map(({ imports }) => imports.length));
  for (const { from, to, imports } of back.filter(({ imports: { length } }) => length === fewest))
    faults.push(`${folder}: ${to} leads back to ${from}: ${imports.join(", ")}`);
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);

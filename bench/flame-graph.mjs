const WIDTH = 1180;
const ROW_HEIGHT = 17;
const HEAD_HEIGHT = 52;
const CHARACTER_WIDTH = 6.3;
/** Boxes below this share are noise. */
const MIN_SHARE = 0.002;
const IDLE = new Set(["(idle)"]);

const STYLE = `
  text { font: 11px ui-monospace, monospace; fill: #1f2328; }
  .title { font: 600 15px system-ui, sans-serif; fill: #6e7781; }
  .about { font: 12px system-ui, sans-serif; fill: #6e7781; }
  rect { stroke: #fff; stroke-width: .5; }
  .ours { fill: #8cc9a6; }
  .node { fill: #a9c4e8; }
  .native { fill: #d8b4c8; }
  @media (prefers-color-scheme: dark) { .title, .about { fill: #c9d1d9; } rect { stroke: #0d1117; } }`;

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/**
 * Builds a call tree from a V8 CPU profile: the same function under the same callers is one box. Idle time is omitted.
 */
export function callTree({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const self = new Map();
  for (const [index, id] of samples.entries()) self.set(id, (self.get(id) ?? 0) + timeDeltas[index]);
  const merge = (name, kind, ids) => {
    const children = new Map();
    for (const id of ids) {
      for (const childId of byId.get(id).children ?? []) {
        const { functionName, url } = byId.get(childId).callFrame;
        if (IDLE.has(functionName)) continue;
        const childName = nameOf(functionName);
        const key = `${childName} ${url}`;
        if (!children.has(key))
          children.set(key, { name: childName, kind: kindOf(functionName, url), ids: [] });
        children.get(key).ids.push(childId);
      }
    }
    const below = [...children.values()].map((child) => merge(child.name, child.kind, child.ids));
    const own = ids.reduce((sum, id) => sum + (self.get(id) ?? 0), 0);
    const total = below.reduce((sum, child) => sum + child.total, own);
    return { name, kind, total, children: below.sort((a, b) => b.total - a.total) };
  };
  return merge("all", "native", [nodes[0].id]);
}

/** V8 reports all functions of the FFI library under the mangled name of the last one. */
function nameOf(functionName) {
  if (functionName === "") return "(anonymous)";
  return functionName.startsWith("_Z") ? "(C function)" : functionName;
}

function kindOf(name, url) {
  if (url.startsWith("node:")) return "node";
  return url === "" || name.startsWith("(") ? "native" : "ours";
}

/** An SVG in which the width of a box is the time spent in a function and its callees. Callers are above. */
export function drawFlameGraph(tree, { title, about }) {
  const boxes = [];
  const place = (node, x, depth) => {
    if (node.total / tree.total < MIN_SHARE) return;
    boxes.push({ node, x, depth });
    let left = x;
    for (const child of node.children) {
      place(child, left, depth + 1);
      left += (child.total / tree.total) * WIDTH;
    }
  };
  place(tree, 0, 0);
  const height = HEAD_HEIGHT + (Math.max(...boxes.map(({ depth }) => depth)) + 1) * ROW_HEIGHT + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
<title id="title">${escape(title)}</title>
<desc id="desc">${escape(about)}</desc>
<style>${STYLE}
</style>
<text class="title" x="4" y="20">${escape(title)}</text>
<text class="about" x="4" y="39">${escape(about)}</text>
${boxes.map((box) => drawBox(box, tree.total)).join("\n")}
</svg>
`;
}

function drawBox({ node, x, depth }, total) {
  const width = (node.total / total) * WIDTH;
  const y = HEAD_HEIGHT + depth * ROW_HEIGHT;
  const percent = `${((node.total / total) * 100).toFixed(1)} %`;
  const room = Math.floor((width - 4) / CHARACTER_WIDTH);
  const label = room < 3 ? "" : node.name.length <= room ? node.name : `${node.name.slice(0, room - 1)}…`;
  const text = label === "" ? "" : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escape(label)}</text>`;
  return `<g><title>${escape(node.name)}: ${percent}</title><rect class="${node.kind}" x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW_HEIGHT}"/>${text}</g>`;
}

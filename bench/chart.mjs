import { requirementText } from "./table.mjs";

const PLOT_WIDTH = 540;
const LABEL_CHARACTER_WIDTH = 6.6;
const VALUE_WIDTH = 90;
const ROW_HEIGHT = 20;
const BAR_HEIGHT = 12;
const HEAD_HEIGHT = 84;
const FOOT_HEIGHT = 34;

/** The colours work on light and dark pages; a viewer without media queries still gets readable mid-tones. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #6e7781; }
  .title { font-size: 17px; font-weight: 600; }
  .value { font-variant-numeric: tabular-nums; }
  .better { fill: #2f8f5b; }
  .worse { fill: #d1722b; }
  .grid { stroke: #8b949e; stroke-opacity: .3; }
  .even { stroke: #8b949e; stroke-width: 1.5; }
  .required { stroke: #8250df; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #c9d1d9; }
    .better { fill: #3fb27f; }
    .worse { fill: #e08a45; }
    .required { stroke: #b794f6; }
  }`;

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const times = (value) =>
  `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)}x`;

/** A requirement on the ratio, converted to times better; null if there is none. */
function requiredTimes({ requirement, better }) {
  if (!requirement || requirement.of === "value") return null;
  const bound = requirement.atLeast ?? requirement.atMost;
  return better === "higher" ? bound : 1 / bound;
}

/** An SVG of how many times better each figure is than the peer's, on a logarithmic scale. */
export function drawChart(rows) {
  const compared = rows.filter(
    ({ timesBetter, context }) => !context && timesBetter !== null && timesBetter > 0,
  );
  const several = new Set(compared.map(({ target }) => target)).size > 1;
  const bars = compared.map((row) => ({
    ...row,
    label: `${several ? `${row.target}: ` : ""}${row.case} over ${row.transport}, ${row.state}, ${row.metric}`,
  }));
  const labelWidth = 24 + LABEL_CHARACTER_WIDTH * Math.max(30, ...bars.map(({ label }) => label.length));
  const width = labelWidth + PLOT_WIDTH + VALUE_WIDTH;
  const reach = bars.flatMap((row) => [row.timesBetter, requiredTimes(row) ?? 1]);
  const low = Math.floor(Math.log10(Math.min(0.5, ...reach)) * 2) / 2;
  const high = Math.ceil(Math.log10(Math.max(2, ...reach)) * 2) / 2;
  const x = (value) => labelWidth + ((Math.log10(value) - low) / (high - low)) * PLOT_WIDTH;
  const bottom = HEAD_HEIGHT + bars.length * ROW_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width.toFixed(0)} ${bottom + FOOT_HEIGHT}" role="img" aria-labelledby="title desc">
<title id="title">How many times better than codex exec-server</title>
<desc id="desc">One bar per measurement on a logarithmic scale. To the right of 1x this server is better, to the left worse.</desc>
<style>${STYLE}
</style>
<text class="title" x="16" y="28">How many times better than codex exec-server</text>
<text x="16" y="48">Medians of ratios within one run, logarithmic. Right of 1x is better, left is worse; a vertical mark is what is required.</text>
${ticks(low, high)
  .map((value) => tick(value, x(value), bottom))
  .join("\n")}
${bars.map((row, i) => bar(row, HEAD_HEIGHT + i * ROW_HEIGHT, { x, labelWidth, width })).join("\n")}
</svg>
`;
}

function ticks(low, high) {
  const values = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
    for (const step of high - low > 4 ? [1] : [1, 2, 5]) {
      const value = step * 10 ** power;
      if (Math.log10(value) >= low - 1e-9 && Math.log10(value) <= high + 1e-9) values.push(value);
    }
  }
  return values;
}

const tick = (value, x, bottom) =>
  `<line class="${value === 1 ? "even" : "grid"}" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${HEAD_HEIGHT - 6}" y2="${bottom}"/>` +
  `<text x="${x.toFixed(1)}" y="${HEAD_HEIGHT - 12}" text-anchor="middle">${Number(value.toPrecision(1))}x</text>`;

function bar(row, top, { x, labelWidth, width }) {
  const { timesBetter, ratio, label } = row;
  const start = Math.min(x(1), x(timesBetter));
  const barWidth = Math.max(1, Math.abs(x(timesBetter) - x(1)));
  const middle = top + ROW_HEIGHT / 2;
  const required = requiredTimes(row);
  const title =
    `${label}: ${times(timesBetter)} as good as the peer; ratio ${ratio.median.toPrecision(3)}, ` +
    `${ratio.min.toPrecision(3)} to ${ratio.max.toPrecision(3)} over ${ratio.rounds} rounds` +
    (row.requirement ? `; required ${requirementText(row.requirement)}: ${row.verdict}` : "");
  const mark =
    required === null
      ? ""
      : `<line class="required" x1="${x(required).toFixed(1)}" x2="${x(required).toFixed(1)}" y1="${top + 2}" y2="${top + ROW_HEIGHT - 2}"/>`;
  return (
    `<g><title>${escape(title)}</title>` +
    `<text x="${(labelWidth - 10).toFixed(1)}" y="${middle + 4}" text-anchor="end">${escape(label)}</text>` +
    `<rect class="${timesBetter >= 1 ? "better" : "worse"}" x="${start.toFixed(1)}" y="${middle - BAR_HEIGHT / 2}" width="${barWidth.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>` +
    `${mark}<text class="value" x="${(width - 16).toFixed(1)}" y="${middle + 4}" text-anchor="end">${times(timesBetter)}</text></g>`
  );
}

import { number } from "./run.mjs";
import { betterRatios, summarize } from "./statistics.mjs";

const REFERENCE = "peer";

/** One row per case, metric and target other than the peer. `ratio` above 1 always means better than the peer. */
export function compare(benchCase, samples) {
  const rows = [];
  for (const { name: metric, better } of benchCase.metrics) {
    const of = (target) => samples[target]?.map((values) => values[metric]);
    const peer = of(REFERENCE);
    for (const target of Object.keys(samples)) {
      if (target === REFERENCE && Object.keys(samples).length > 1) continue;
      const values = of(target);
      const ratios = peer && target !== REFERENCE ? betterRatios(values, peer, better) : null;
      rows.push({
        case: benchCase.name,
        metric,
        better,
        target,
        samples: { [target]: values, ...(peer ? { [REFERENCE]: peer } : {}) },
        summary: summarize(values),
        peerSummary: peer ? summarize(peer) : null,
        ratio: ratios ? summarize(ratios) : null,
      });
    }
  }
  return rows;
}

const spread = (summary) =>
  summary ? `${number(summary.median)} [${number(summary.min)}..${number(summary.max)}]` : "-";

function verdict(row) {
  if (!row.ratio) return "-";
  const { median, min, max } = row.ratio;
  const word = median >= 1 ? `${number(median)}x BETTER` : `${number(1 / median)}x worse`;
  return `${word}  (ratio ${number(median)} [${number(min)}..${number(max)}])`;
}

export function formatTable(rows) {
  const cells = [
    [
      "case",
      "metric",
      "better is",
      "target",
      "target median [min..max]",
      "peer median [min..max]",
      "than the peer",
    ],
    ...rows.map((row) => [
      row.case,
      row.metric,
      row.better,
      row.target,
      spread(row.summary),
      spread(row.peerSummary),
      verdict(row),
    ]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

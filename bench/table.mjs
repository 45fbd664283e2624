import { judge, requirementOf } from "./requirements.mjs";
import { number } from "./run.mjs";
import { ratiosOf, summarize } from "./statistics.mjs";

const REFERENCE = "peer";

/**
 * One row per metric of one state, and target other than the peer. `ratio` is target / peer; `timesBetter` above 1
 * means better than the peer.
 */
export function compare(benchCase, transport, state, results, requirements) {
  const names = Object.keys(results);
  const shown = names.length > 1 ? names.filter((name) => name !== REFERENCE) : names;
  return benchCase.metrics.flatMap(({ name: metric, better, context = false }) =>
    shown.map((target) => {
      const of = (name) => results[name]?.map((result) => result[metric] ?? null);
      const peer = target === REFERENCE ? undefined : of(REFERENCE);
      const row = {
        case: benchCase.name,
        transport,
        state,
        metric,
        better,
        context,
        target,
        samples: { [target]: of(target), ...(peer ? { [REFERENCE]: peer } : {}) },
        summary: summarize(of(target)),
        peerSummary: peer ? summarize(peer) : null,
        ratio: peer ? summarize(ratiosOf(of(target), peer)) : null,
      };
      row.timesBetter = row.ratio ? (better === "higher" ? row.ratio.median : 1 / row.ratio.median) : null;
      const requirement = requirementOf(requirements, row);
      return requirement ? { ...row, requirement, verdict: judge(requirement, row) } : row;
    }),
  );
}

const spread = (summary) =>
  summary ? `${number(summary.median)} [${number(summary.min)}..${number(summary.max)}]` : "-";

export function requirementText({ atMost, atLeast, of }) {
  const bound = atMost === undefined ? `>= ${number(atLeast)}` : `<= ${number(atMost)}`;
  return of === "value" ? `${bound} itself` : of === "best round" ? `${bound} at best` : bound;
}

export function formatTable(rows) {
  const cells = [
    ["case", "over", "server", "metric", "target", "median [min..max]", "peer", "ratio", "required", ""],
    ...rows.map((row) => [
      row.case,
      row.transport,
      row.state,
      `${row.metric} ${row.better === "higher" ? "↑" : "↓"}`,
      row.target,
      spread(row.summary),
      spread(row.peerSummary),
      spread(row.ratio),
      row.requirement ? requirementText(row.requirement) : "",
      row.verdict === "miss" ? "MISS" : (row.verdict ?? ""),
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

/** Remarks on the rounds, and where the bench itself may have been the bottleneck. */
export function notesOf(benchCase, transport, state, results) {
  const BUSY = 0.9;
  return Object.entries(results).flatMap(([target, rounds]) => {
    const remarks = [...new Set(rounds.flatMap(({ note }) => (note ? [note] : [])))];
    const busiest = Math.max(0, ...rounds.map(({ clientCpu }) => clientCpu ?? 0));
    if (busiest > BUSY) remarks.push(`the bench used ${(busiest * 100).toFixed(0)} % of a core itself`);
    return remarks.map((remark) => `${benchCase.name} ${transport}, ${state} ${target}: ${remark}`);
  });
}

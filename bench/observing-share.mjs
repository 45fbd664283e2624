// How much of a server's time goes into audit and metrics: samples of its own stack say it. Others on the machine take time
// from all of it alike, so that the share stays the same where rates and times of two servers differ by half.
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { mapProgram } from "../scripts/build-program.mjs";
import { prepareProfile } from "./inspector.mjs";
import { OPERATED } from "./operator-works.mjs";
import { oursTarget } from "./servers.mjs";
import { withDeadline } from "./waiting.mjs";

const OBSERVING =
  /src\/server\/(?:audit|metrics|settings\/observer\.ts|wire\/(?:observation|request-observers)\.ts)|node_modules\/prom-client\//;
const PROGRAM = new URL("../dist/program.js", import.meta.url);
const SAMPLING_MICROSECONDS = 100;

/** Finds the source file of a place in the program. */
async function sourcesOf() {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const { text, map } = await mapProgram(version);
  if (text !== readFileSync(PROGRAM, "utf8"))
    throw new Error("dist/program.js is outdated; run `npm run build`");
  const sources = new SourceMap(JSON.parse(map));
  return ({ url, lineNumber, columnNumber }) =>
    url.endsWith("/program.js")
      ? (sources.findEntry(lineNumber, Math.max(0, columnNumber)).originalSource ?? "")
      : url;
}

/** Seconds of the thread in a profile: all that it worked, and what of it was observing and garbage collection. */
function timesIn({ nodes, samples, timeDeltas }, sourceOf) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const observing = new Map();
  const isObserving = (id) => {
    if (id === undefined) return false;
    if (!observing.has(id))
      observing.set(id, OBSERVING.test(sourceOf(frames.get(id))) || isObserving(parents.get(id)));
    return observing.get(id);
  };
  const times = { worked: 0, observing: 0, collecting: 0 };
  for (const [index, id] of samples.entries()) {
    const seconds = timeDeltas[index] / 1_000_000;
    const { functionName } = frames.get(id);
    if (functionName === "(idle)") continue;
    times.worked += seconds;
    if (functionName === "(garbage collector)") times.collecting += seconds;
    else if (isObserving(id)) times.observing += seconds;
  }
  return times;
}

/** Profiles one server at some work. */
async function profileServer(flags, { warmUp, run, profiled }, share) {
  const { nodeArguments, profile } = await prepareProfile(SAMPLING_MICROSECONDS);
  const server = await oursTarget(nodeArguments, flags).open("ws");
  try {
    const session = await server.openSession();
    await withDeadline(run(session, warmUp), "warming up");
    return await profile(() => withDeadline(run(session, Math.round(profiled * share)), "the work"));
  } finally {
    await server.stop();
  }
}

/**
 * The share of audit and metrics in the time of the server's thread. Garbage that they leave counts too: as much as the
 * collector takes more than on a server without them.
 */
export async function observingShare(work, share = 1) {
  const sourceOf = await sourcesOf();
  const operated = timesIn(await profileServer(OPERATED, work, share), sourceOf);
  const plain = timesIn(await profileServer([], work, share), sourceOf);
  const collecting = Math.max(0, operated.collecting / operated.worked - plain.collecting / plain.worked);
  return {
    observing: operated.observing / operated.worked,
    collecting,
    seconds: operated.worked,
    /** Nothing of it may be there. */
    plain: plain.observing / plain.worked,
  };
}

// Draws where this server's thread spends its time in one bench case: node scripts/flame-graph.mjs rpc
// docs/flame-rpc.svg
import { writeFile } from "node:fs/promises";
import { CASES } from "../bench/cases/index.mjs";
import { callTree, drawFlameGraph } from "../bench/flame-graph.mjs";
import { prepareProfile } from "../bench/inspector.mjs";
import { oursTarget } from "../bench/servers.mjs";

const USAGE = "node scripts/flame-graph.mjs CASE FILE.svg [ws|stdio] [warm|fresh]";
const SAMPLING_MICROSECONDS = 100;

const [caseName, file, transport = "ws", state = "warm"] = process.argv.slice(2);
const benchCase = CASES.find(({ name }) => name === caseName);
if (!benchCase || !file || (state === "fresh" && !benchCase.firstCalls)) {
  console.error(`${USAGE}\nwhere CASE is one of ${CASES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const { nodeArguments, profile } = await prepareProfile(SAMPLING_MICROSECONDS);
const server = await oursTarget(nodeArguments).open(transport);
const fixture = await benchCase.setUp?.({ quick: false });
const context = { server, quick: false, transport, fixture };
try {
  if (state === "warm") await benchCase.warmUp?.(context);
  const work = state === "warm" ? benchCase.run : benchCase.firstCalls;
  const measured = await profile(() => work(context));
  const svg = drawFlameGraph(callTree(measured), {
    title: `${benchCase.name} over ${transport}, ${state}`,
    about: `${benchCase.about}. Green is this program with its libraries, blue is Node's JavaScript, red is native code and the kernel. Idle time is left out.`,
  });
  await writeFile(file, svg);
} finally {
  await server.stop();
  await fixture?.stop();
}

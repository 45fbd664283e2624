import burst from "./burst.mjs";
import coldStart from "./cold-start.mjs";
import connections from "./connections.mjs";
import echo from "./echo.mjs";
import filesLarge from "./files-large.mjs";
import filesSmall from "./files-small.mjs";
import http from "./http.mjs";
import lines from "./lines.mjs";
import manyProcesses from "./many-processes.mjs";
import memory from "./memory.mjs";
import output8 from "./output-8.mjs";
import outputPty from "./output-pty.mjs";
import output from "./output.mjs";
import rpc from "./rpc.mjs";
import sandbox from "./sandbox.mjs";
import scaleConnections from "./scale-connections.mjs";
import scaleOutput from "./scale-output.mjs";
import scaleRpc from "./scale-rpc.mjs";
import scaleSpawn from "./scale-spawn.mjs";
import shortProcesses from "./short-processes.mjs";
import spawnLatency from "./spawn-latency.mjs";
import spawnRateHeldPty from "./spawn-rate-held-pty.mjs";
import spawnRateHeld from "./spawn-rate-held.mjs";
import spawnRatePty from "./spawn-rate-pty.mjs";
import spawnRate from "./spawn-rate.mjs";
import stoppedReader from "./stopped-reader.mjs";

/** In run and display order. */
export const CASES = [
  coldStart,
  memory,
  connections,
  rpc,
  burst,
  spawnLatency,
  spawnRate,
  spawnRatePty,
  spawnRateHeld,
  spawnRateHeldPty,
  shortProcesses,
  manyProcesses,
  echo,
  output,
  output8,
  outputPty,
  lines,
  stoppedReader,
  filesSmall,
  filesLarge,
  http,
  sandbox,
  scaleSpawn,
  scaleOutput,
  scaleRpc,
  scaleConnections,
];

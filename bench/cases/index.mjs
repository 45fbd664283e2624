import echo from "./echo.mjs";
import output from "./output.mjs";
import rpc from "./rpc.mjs";
import spawnLatency from "./spawn-latency.mjs";
import spawnRate from "./spawn-rate.mjs";

export const CASES = [spawnRate, spawnLatency, output, rpc, echo];

import { spawnRateCase } from "./spawn-rate.mjs";

export default spawnRateCase("spawn-rate-pty", true);

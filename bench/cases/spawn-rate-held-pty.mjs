import { spawnRateHeldCase } from "./spawn-rate-held.mjs";

export default spawnRateHeldCase("spawn-rate-held-pty", true);

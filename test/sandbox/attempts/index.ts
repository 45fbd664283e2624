import type { Attempt } from "../attempt.ts";
import { fileAttempts } from "./files.ts";
import { fileCallAttempts } from "./file-calls.ts";
import { kernelAttempts } from "./kernel.ts";
import { managedNetworkAttempts } from "./managed-network.ts";
import { networkAttempts } from "./network.ts";
import { processAttempts } from "./processes.ts";
import { serverAttempts } from "./server.ts";
import { systemAttempts } from "./system.ts";

export const attempts: readonly Attempt[] = [
  ...fileAttempts,
  ...fileCallAttempts,
  ...systemAttempts,
  ...processAttempts,
  ...networkAttempts,
  ...managedNetworkAttempts,
  ...kernelAttempts,
  ...serverAttempts,
];

import { statfsSync } from "node:fs";
import type { NativePath } from "./native-path.ts";

/** File systems whose changes the kernel does not report: proc, sysfs, devpts. */
const SILENT_FILE_SYSTEMS = new Set([0x9fa0, 0x62656572, 0x1cd1]);

export function isSilent(path: NativePath): boolean {
  return SILENT_FILE_SYSTEMS.has(statfsSync(path).type);
}

export const CODEX_VERSION: string;
export const CODEX_VERSIONS: readonly string[];
export function findCodexBinary(version?: string): string | undefined;
export function installCodex(version?: string): string;

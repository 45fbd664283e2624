export const CODEX_VERSION: string;
export function findCodexBinary(): string | undefined;
export function installCodex(): string;

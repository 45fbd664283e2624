export const MCP_TOOLS: string;
export function installMcpTools(): string;

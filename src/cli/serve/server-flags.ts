import { AUDIT_FLAGS } from "./audit-flags.ts";
import { AUTHENTICATION_FLAGS } from "./authentication-flags.ts";
import { EXPOSURE_FLAGS, EXPOSURE_SWITCHES, REPEATABLE_EXPOSURE_FLAGS } from "./exposure-flags.ts";
import { FLEET_FLAGS, REPEATABLE_FLEET_FLAGS } from "./fleet-flags.ts";
import { LIMIT_FLAGS } from "./limit-flags.ts";
import { LOG_FLAGS } from "./log.ts";
import { MCP_FLAGS, MCP_SWITCHES, REPEATABLE_MCP_FLAGS } from "./mcp-flags.ts";
import { REMOTE_SERVER_FLAGS, REMOTE_SERVER_SWITCHES } from "./remote-flags.ts";

/** Codex flags that change what is served. Ignoring one silently would mislead the caller. */
export const REFUSED_FLAGS = { "linux-sandbox-pid-namespace": "MODE" };

/** Everything that the command line of a server may contain. */
export const SERVER_FLAGS = {
  values: {
    listen: "URL",
    "concurrent-requests": "COUNT",
    "exit-when-idle": "DURATION",
    config: "PATH",
    sandbox: "NAME",
    "run-as": "USER",
    durable: "DIR",
    ...EXPOSURE_FLAGS,
    ...MCP_FLAGS,
    ...FLEET_FLAGS,
    ...REMOTE_SERVER_FLAGS,
    ...AUTHENTICATION_FLAGS,
    ...AUDIT_FLAGS,
    ...LIMIT_FLAGS,
    ...LOG_FLAGS,
    ...REFUSED_FLAGS,
  },
  switches: [
    "insecure-no-auth",
    "stdio",
    "require-sandbox",
    "metrics",
    "no-console",
    ...EXPOSURE_SWITCHES,
    ...MCP_SWITCHES,
    ...REMOTE_SERVER_SWITCHES,
  ],
  repeatable: [...REPEATABLE_EXPOSURE_FLAGS, ...REPEATABLE_MCP_FLAGS, ...REPEATABLE_FLEET_FLAGS],
};

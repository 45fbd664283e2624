import { ownAccount } from "../../native/account.ts";
import { resolve, join } from "node:path";
import { isatty } from "node:tty";
import { MAX_TIMER_MS } from "../../base/duration.ts";
import { ExecError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { Sandbox } from "../../capabilities/sandbox/sandbox.ts";
import { libc } from "../../native/libc.ts";
import { methods } from "../../protocol/index.ts";
import {
  type AuthenticationPolicy,
  type ConsoleOptions,
  type FleetOptions,
  type ListenAddress,
  parseListenUrl,
  serve as startListening,
  type ServerLimits,
  type ServerOptions,
} from "../../server/index.ts";
import { isExposed } from "../../server/serve/listen-address.ts";
import { AUDIT_FLAGS, parseAudit } from "./audit-flags.ts";
import {
  AUTHENTICATION_FILES,
  AUTHENTICATION_FLAGS,
  parseAuthentication,
  resolveHome,
} from "./authentication-flags.ts";
import { type CliError, failure, usageError } from "./cli-error.ts";
import { type Configuration, readConfiguration } from "./config-file.ts";
import {
  type Exposure,
  EXPOSURE_FLAGS,
  EXPOSURE_SWITCHES,
  parseExposure,
  REPEATABLE_EXPOSURE_FLAGS,
} from "./exposure-flags.ts";
import { FLEET_FLAGS, parseFleet, REPEATABLE_FLEET_FLAGS } from "./fleet-flags.ts";
import { parseFlags } from "./flags.ts";
import { LIMIT_FLAGS, parseLimitFlags } from "./limit-flags.ts";
import { sandboxPreset } from "./sandbox-flags.ts";
import { LOG_FLAGS, parseLog } from "./log-flags.ts";
import { parseDuration } from "../shared/parse-duration.ts";
import { refuseDebugger } from "./refuse-debugger.ts";
import { cannotWrite } from "./print-result.ts";
import { writeErr, writeOut } from "../shared/standard-streams.ts";
import { VERSION } from "../shared/version.ts";
import { consoleLine, welcome } from "./welcome.ts";

const FLAGS = {
  listen: "URL",
  "concurrent-requests": "COUNT",
  "exit-when-idle": "DURATION",
  config: "PATH",
  sandbox: "NAME",
  "run-as": "USER",
  ...EXPOSURE_FLAGS,
  ...FLEET_FLAGS,
  ...AUTHENTICATION_FLAGS,
  ...AUDIT_FLAGS,
  ...LIMIT_FLAGS,
  ...LOG_FLAGS,
};
const SWITCHES = [
  "insecure-no-auth",
  "stdio",
  "require-sandbox",
  "metrics",
  "no-console",
  ...EXPOSURE_SWITCHES,
];

/**
 * Of a server that nobody can reach any more, because a newer one has its name. A supervisor that started it again would
 * make the two replace each other for ever.
 */
const REPLACED_STATUS = 3;

/** By then, most clients of a new server have sent `initialize`. */
const FINISH_DELAY_MS = 500;

/** Codex flags that change what is served. Ignoring one silently would mislead the caller. */
const REFUSED_FLAGS = {
  remote: "URL",
  "environment-id": "ID",
  name: "NAME",
  "linux-sandbox-pid-namespace": "MODE",
};

/** Serves until it is stopped, or its only client leaves. */
export async function serve(args: readonly string[]): Promise<void> {
  refuseDebugger();
  const { address, ...options } = await parseOptions(args);
  if (address.kind === "stdio") await serveStdio(options);
  else await serveListening(options);
  finishStart(options.logger);
}

/** Preloads what the first process needs, if there is time before it starts. */
function finishStart(logger: Logger): void {
  setTimeout(() => {
    try {
      libc();
    } catch (error) {
      logger.warn("the C library could not be loaded", { error: String(error) });
    }
    // The first use builds the schema, which takes longer than starting a process.
    setImmediate(() => methods["process/start"].params.safeParse({}));
  }, FINISH_DELAY_MS).unref();
}

interface ListenOptions extends ServerOptions, Exposure {
  readonly url: string;
  readonly authentication: AuthenticationPolicy | undefined;
  readonly limits: Partial<ServerLimits>;
  readonly logger: Logger;
  readonly metrics: boolean;
  readonly console: ConsoleOptions | false;
  readonly exitWhenIdleMs: number | undefined;
  readonly fleet?: FleetOptions;
}

/** Some faults only show on this machine: it cannot serve, or a configured root does not exist. */
async function orFailure<T>(start: () => T | Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (error instanceof ExecError) throw failure(error.message);
    throw error;
  }
}

async function parseOptions(args: readonly string[]): Promise<ListenOptions & { address: ListenAddress }> {
  const flags = parseFlags(args, {
    values: { ...FLAGS, ...REFUSED_FLAGS },
    switches: SWITCHES,
    repeatable: [...REPEATABLE_EXPOSURE_FLAGS, ...REPEATABLE_FLEET_FLAGS],
  });
  if (flags.has("remote") && flags.has("listen"))
    throw usageError("the argument '--remote <URL>' cannot be used with '--listen <URL>'");
  if (flags.has("stdio") && flags.has("listen"))
    throw usageError("the argument '--stdio' cannot be used with '--listen <URL>'");
  for (const [name, value] of Object.entries(REFUSED_FLAGS))
    if (flags.has(name))
      throw usageError(`the argument '--${name} <${value}>' is not supported by this version`);
  const concurrentRequests = parseCount(flags.get("concurrent-requests") ?? "1");
  const exitWhenIdleMs = parseIdleTime(flags.get("exit-when-idle"));
  const openLog = parseLog(flags);
  const url = flags.has("stdio") ? "stdio" : (flags.get("listen") ?? "ws://127.0.0.1:0");
  const loadAuthentication = parseAuthentication(flags);
  const address = await orFailure(() => parseListenUrl(url, "--listen URL"));
  if (address.kind === "stdio" && loadAuthentication !== undefined)
    throw failure("WebSocket auth requires a WebSocket listener, not stdio");
  if (address.kind === "stdio" && exitWhenIdleMs !== undefined)
    throw usageError(
      "the argument '--exit-when-idle <DURATION>' cannot be used with stdio, where the server ends with its client",
    );
  if (address.kind === "none" && flags.has("metrics"))
    throw usageError("the argument '--metrics' needs an address: '--listen none' has none");
  const fromFlags = parseLimitFlags(flags);
  const config = flags.get("config");
  const configuration: Configuration =
    config === undefined ? { limits: {} } : await readConfiguration(config);
  const edge = await orFailure(() => parseExposure(flags, configuration, address));
  const isOpen = loadAuthentication === undefined && edge.tls?.clientCa === undefined;
  if (isOpen && !flags.has("insecure-no-auth") && isExposed(address))
    throw failure(
      `refusing to listen on \`${url}\` without authentication: anyone who reaches it could run commands here; set --ws-auth, or --insecure-no-auth to do it all the same`,
    );
  const joined = await parseFleet(flags, configuration.fleet);
  checkFleet(joined?.fleet, address, loadAuthentication !== undefined || flags.has("insecure-no-auth"));
  const limits = { ...configuration.limits, ...fromFlags };
  const audit = parseAudit(flags, configuration.audit);
  // Heads of an audit log that nobody sees elsewhere prove nothing.
  const { logger, observers } = openLog(audit === undefined ? "warn" : "info", configuration);
  const confinement = await parseConfinement(flags, configuration);
  const runAs = flags.get("run-as") ?? configuration.runAs;
  const authentication = loadAuthentication?.();
  const hiddenPaths = [
    ...AUTHENTICATION_FILES.flatMap((name) => flags.get(name) ?? []).map(resolveHome),
    ...["config", "log-file"].flatMap((name) => flags.get(name) ?? []).map((path) => resolve(path)),
  ];
  hiddenPaths.push(...(joined?.secrets ?? []));
  const environment = process.env;
  return {
    address,
    url,
    ...(configuration.local === undefined ? {} : { local: configuration.local }),
    environment,
    ...(runAs === undefined ? {} : { runAs }),
    authentication,
    concurrentRequests,
    limits,
    logger,
    observers,
    metrics: flags.has("metrics") || configuration.metrics === true,
    console: !flags.has("no-console") && configuration.console !== false && { keyFile: consoleKeyPath() },
    hiddenPaths,
    exitWhenIdleMs,
    version: VERSION,
    ...edge,
    ...(audit === undefined ? {} : { audit }),
    ...(joined === undefined ? {} : { fleet: joined.fleet }),
    ...confinement,
  };
}

function checkFleet(fleet: FleetOptions | undefined, { kind }: ListenAddress, isAllowed: boolean): void {
  if (fleet === undefined) {
    if (kind === "none") throw usageError("'--listen none' needs '--fleet <FLEET>': no client could connect");
    return;
  }
  if (kind === "stdio")
    throw usageError("a fleet cannot be joined on stdio, where the server ends with its client");
  if (!isAllowed)
    throw failure(
      "refusing to join a fleet without authentication: anyone who may use its NATS could run commands here; set --ws-auth, or --insecure-no-auth to do it all the same",
    );
}

/** A server that could only refuse everything does not start. */
async function parseConfinement(
  flags: ReadonlyMap<string, string>,
  { sandbox: configured, requireSandbox = false }: Configuration,
): Promise<Pick<ServerOptions, "sandbox" | "requireSandbox">> {
  const name = flags.get("sandbox");
  const sandbox = name === undefined ? configured : sandboxPreset(name);
  const isRequired = requireSandbox || flags.has("require-sandbox");
  if (sandbox === undefined && !isRequired) return {};
  await orFailure(() => new Sandbox(process.env["PATH"]).bubblewrap());
  return { ...(sandbox === undefined ? {} : { sandbox }), requireSandbox: isRequired };
}

function parseCount(text: string): number {
  const refuse = (why: string): CliError =>
    usageError(`invalid value '${text}' for '--concurrent-requests <COUNT>': ${why}`);
  if (!/^[0-9]{1,9}$/.test(text)) throw refuse("invalid digit found in string");
  if (Number(text) === 0) throw refuse("number would be zero for non-zero type");
  return Number(text);
}

function parseIdleTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0 && ms <= MAX_TIMER_MS) return ms;
  throw usageError(
    `invalid value '${text}' for '--exit-when-idle <DURATION>': expected a time such as 90s, 10m or 2h, at most 24d`,
  );
}

async function serveListening({ url, exitWhenIdleMs, fleet, ...options }: ListenOptions): Promise<void> {
  const stopWhenIdle = (): void => {
    options.logger.info("stopping", { idleMs: exitWhenIdleMs });
    // It stops listening in this very step, so that whoever comes now finds no server instead of one that ends.
    exitAfter(server.close());
  };
  const replaced = (): void => {
    if (url !== "none") return;
    writeErr(
      `a newer executor of the name ${fleet?.id} has joined the fleet: this one ends, because clients can no longer reach it\n`,
    );
    // This may be reported before it has started.
    void starting.then(
      async () => {
        await server.drain();
        exitAfter(server.close(), REPLACED_STATUS);
      },
      () => {},
    );
  };
  const starting = orFailure(() =>
    startListening({
      ...options,
      listen: url,
      // The flags have already decided whether it may run without authentication.
      insecureNoAuth: true,
      ...(fleet === undefined ? {} : { fleet: { ...fleet, keepTrying: true, replaced } }),
      ...(exitWhenIdleMs === undefined ? {} : { idle: { afterMs: exitWhenIdleMs, call: stopWhenIdle } }),
    }),
  );
  const server = await starting;
  onStopSignal(async (signal) => {
    options.logger.info("stopping", { signal });
    if (signal === "SIGTERM") await server.drain();
    await server.close();
  });
  await writeOut(`${server.url}\n`).catch(async (error: unknown) => {
    await server.close();
    throw cannotWrite(error);
  });
  const consoleUrl = server.consoleLink();
  const needsToken = options.authentication !== undefined;
  if (isatty(2)) writeErr(welcome({ url: server.url, needsToken, consoleUrl, fleet }));
  else if (consoleUrl !== undefined) writeErr(consoleLine(consoleUrl, needsToken));
}

async function serveStdio(options: ListenOptions): Promise<void> {
  const server = await orFailure(() => startListening({ ...options, listen: "stdio" }));
  onStopSignal(() => server.close());
  exitAfter(server.closed);
}

/** `stop` may wait the first time; a second signal, of either kind, is not kept waiting. */
function onStopSignal(stop: (signal: string) => Promise<void>): void {
  let isStopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      exitAfter(stop(isStopping ? "SIGINT" : signal));
      isStopping = true;
    });
}

function exitAfter(stopped: Promise<unknown>, status = 0): void {
  stopped.then(
    () => process.exit(status),
    (error: unknown) => {
      writeErr(`the server could not stop in order: ${String(error)}\n`);
      process.exit(1);
    },
  );
}

/** Where the key of the console is kept for all servers of the user. Undefined without a home. */
function consoleKeyPath(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { XDG_STATE_HOME, HOME } = environment;
  if (XDG_STATE_HOME?.startsWith("/")) return join(XDG_STATE_HOME, "exec-server", "console.key");
  const home = HOME?.startsWith("/") ? HOME : ownAccount()?.home;
  return home === undefined ? undefined : join(home, ".local", "state", "exec-server", "console.key");
}

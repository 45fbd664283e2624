import { join, resolve } from "node:path";
import { isatty } from "node:tty";
import { MAX_TIMER_MS } from "../../base/duration.ts";
import type { Logger } from "../../base/logger.ts";
import { Sandbox } from "../../capabilities/sandbox/sandbox.ts";
import { libc } from "../../native/libc.ts";
import { methods } from "../../protocol/index.ts";
import { SANDBOX_PRESETS } from "../../protocol/sandbox-options.ts";
import {
  type FleetOptions,
  type ListenAddress,
  parseListenUrl,
  serve as startListening,
  type ServerOptions,
} from "../../server/index.ts";
import { isExposed } from "../../server/serve/listen-address.ts";
import { defined } from "../shared/defined.ts";
import { describeFileError, Failure, usageFailure } from "../shared/failure.ts";
import { parseDuration } from "../shared/parse-duration.ts";
import { writeErr, writeOut } from "../shared/standard-streams.ts";
import { stateDirectory } from "../shared/state-directory.ts";
import { VERSION } from "../shared/version.ts";
import { parseAudit } from "./audit-flags.ts";
import { AUTHENTICATION_FILES, parseAuthentication, resolveHome } from "./authentication-flags.ts";
import { type Configuration, readConfiguration } from "./config-file.ts";
import { endWithStdin, exitAfter, onStopSignal, startedBefore } from "./ending.ts";
import { type Exposure, parseExposure } from "./exposure-flags.ts";
import { type Flags, parseFlags } from "./flags.ts";
import { parseFleet } from "./fleet-flags.ts";
import { parseLimitFlags } from "./limit-flags.ts";
import { parseLog } from "./log.ts";
import { parseMcp } from "./mcp-flags.ts";
import { parseRemote } from "./remote-flags.ts";
import { refuseDebugger } from "./refuse-debugger.ts";
import { REFUSED_FLAGS, SERVER_FLAGS } from "./server-flags.ts";
import { serviceManager } from "./service-manager.ts";
import { consoleLine, welcome } from "./welcome.ts";

/**
 * Status of a server that is no longer reachable, because a newer one has its name. A supervisor that restarted it
 * would make the two replace each other forever.
 */
const REPLACED_STATUS = 3;

/** By then, most clients of a new server have sent `initialize`. */
const FINISH_DELAY_MS = 500;

/** Serves until it is stopped, or its only client leaves. */
export async function serve(args: readonly string[]): Promise<void> {
  refuseDebugger();
  try {
    const { address, ...options } = await parseOptions(args);
    if (options.remote === "ended") return;
    if (address.kind === "stdio") await serveStdio(options);
    else await serveListening(options);
    finishStart(options.logger);
  } catch (error) {
    // A credential may be read from there, and the other end must not keep this program alive.
    process.stdin.destroy();
    throw error;
  }
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

type Options = Omit<Awaited<ReturnType<typeof parseOptions>>, "address">;

async function parseOptions(args: readonly string[]) {
  const flags = parseFlags(args, SERVER_FLAGS);
  if (flags.has("stdio") && flags.has("listen"))
    throw usageFailure("the argument '--stdio' cannot be used with '--listen <URL>'");
  const refused = Object.keys(REFUSED_FLAGS).find((name) => flags.has(name));
  if (refused !== undefined)
    throw usageFailure(`the argument '${flags.usage(refused)}' is not supported by this version`);
  const concurrentRequests = parseConcurrency(flags);
  const exitWhenIdleMs = parseIdleTime(flags);
  const openLog = parseLog(flags);
  const openRemote = parseRemote(flags);
  const url = flags.has("stdio")
    ? "stdio"
    : (flags.get("listen") ?? (openRemote === undefined ? "ws://127.0.0.1:0" : "none"));
  const loadAuthentication = parseAuthentication(flags);
  const address = parseListenUrl(url, "--listen URL");
  if (address.kind === "stdio" && loadAuthentication !== undefined)
    throw new Failure("WebSocket auth requires a WebSocket listener, not stdio");
  if (address.kind === "stdio" && exitWhenIdleMs !== undefined)
    throw usageFailure(
      "the argument '--exit-when-idle <DURATION>' cannot be used with stdio, where the server ends with its client",
    );
  if (address.kind === "none" && flags.has("metrics"))
    throw usageFailure("the argument '--metrics' needs an address: '--listen none' has none");
  const fromFlags = parseLimitFlags(flags);
  const config = flags.get("config");
  const configuration: Configuration =
    config === undefined ? { limits: {} } : await readConfiguration(config);
  const durable = flags.get("durable") ?? configuration.durable;
  if (durable !== undefined) checkDurable(address, exitWhenIdleMs);
  const edge = parseExposure(flags, configuration, address);
  const isOpen = loadAuthentication === undefined && edge.tls?.clientCa === undefined;
  if (isOpen && !flags.has("insecure-no-auth") && isExposed(address))
    throw new Failure(
      `refusing to listen on \`${url}\` without authentication: anyone who reaches it could run commands here; set --ws-auth, or --insecure-no-auth to do so anyway`,
    );
  const mcp = parseMcp(flags, configuration.mcp, address, loadAuthentication !== undefined);
  const joined = await parseFleet(flags, configuration.fleet);
  if (openRemote !== undefined && address.kind === "stdio")
    throw usageFailure("'--remote <URL>' cannot be used with stdio, where the server ends with its client");
  if (openRemote === undefined || joined !== undefined)
    checkFleet(joined?.fleet, address, loadAuthentication !== undefined || flags.has("insecure-no-auth"));
  const limits = { ...configuration.limits, ...fromFlags };
  const audit = parseAudit(flags, configuration.audit);
  // Heads of an audit log prove nothing unless they are logged elsewhere.
  const { logger, observers } = openLog(audit === undefined ? "warn" : "info", configuration);
  if (isPlain(address, edge))
    logger.warn("connections are not encrypted: others on the network can read tokens and everything else", {
      listen: url,
      remedy:
        "listen on wss:// with --tls-cert and --tls-key, or name the proxy that encrypts with --public-url",
    });
  const confinement = await parseConfinement(flags, configuration);
  const authentication = loadAuthentication?.();
  const remote = await openRemote?.();
  const hiddenPaths = [
    ...AUTHENTICATION_FILES.flatMap((name) => flags.get(name) ?? []).map(resolveHome),
    ...["config", "log-file"].flatMap((name) => flags.get(name) ?? []).map((path) => resolve(path)),
    ...(joined?.secrets ?? []),
    ...(remote?.secrets ?? []).map((path) => resolve(path)),
  ];
  return {
    address,
    url,
    environment: process.env,
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
    program: [process.execPath, process.argv[1] ?? ""],
    ...edge,
    ...defined({
      local: configuration.local,
      secrets: configuration.secrets,
      runAs: flags.get("run-as") ?? configuration.runAs,
      durable,
      audit,
      mcp,
      fleet: joined?.fleet,
      remote: openRemote === undefined ? undefined : (remote ?? "ended"),
    }),
    ...confinement,
  };
}

/** True if other machines connect without TLS, as far as this server can tell. */
function isPlain(address: ListenAddress, { publicUrls = [] }: Exposure): boolean {
  if (address.kind !== "websocket" || address.isSecure || !isExposed(address)) return false;
  return !publicUrls.some((url) => /^(?:wss|https):/i.test(url));
}

function checkFleet(fleet: FleetOptions | undefined, { kind }: ListenAddress, isAllowed: boolean): void {
  if (fleet === undefined) {
    if (kind === "none")
      throw usageFailure("'--listen none' needs '--fleet <FLEET>': no client could connect");
    return;
  }
  if (kind === "stdio")
    throw usageFailure("a fleet cannot be joined on stdio, where the server ends with its client");
  if (!isAllowed)
    throw new Failure(
      "refusing to join a fleet without authentication: anyone who may use its NATS could run commands here; set --ws-auth, or --insecure-no-auth to do so anyway",
    );
}

function checkDurable({ kind }: ListenAddress, exitWhenIdleMs: number | undefined): void {
  const refuse = (why: string): Failure =>
    usageFailure(`the argument '--durable <DIR>' cannot be used with ${why}`);
  if (kind === "stdio") throw refuse("stdio, where the server ends with its client");
  if (exitWhenIdleMs !== undefined)
    throw refuse("'--exit-when-idle <DURATION>': what runs does not end with the server");
}

/** A server that could only refuse everything does not start. */
async function parseConfinement(
  flags: Flags,
  configuration: Configuration,
): Promise<Pick<ServerOptions, "sandbox" | "requireSandbox">> {
  const sandbox = flags.choice("sandbox", SANDBOX_PRESETS) ?? configuration.sandbox;
  const requireSandbox = configuration.requireSandbox === true || flags.has("require-sandbox");
  if (sandbox === undefined && !requireSandbox) return {};
  await new Sandbox(process.env["PATH"]).bubblewrap();
  return defined({ sandbox, requireSandbox });
}

function parseConcurrency(flags: Flags): number {
  const name = "concurrent-requests";
  const text = flags.get(name) ?? "1";
  if (!/^[0-9]{1,9}$/.test(text)) throw flags.invalid(name, "invalid digit found in string");
  if (Number(text) === 0) throw flags.invalid(name, "number would be zero for non-zero type");
  return Number(text);
}

function parseIdleTime(flags: Flags): number | undefined {
  const text = flags.get("exit-when-idle");
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0 && ms <= MAX_TIMER_MS) return ms;
  throw flags.invalid("exit-when-idle", "expected a time such as 90s, 10m or 2h, at most 24d");
}

async function serveListening({ url, exitWhenIdleMs, fleet, remote, ...options }: Options): Promise<void> {
  const manager = serviceManager();
  const stopWhenIdle = (): void => {
    options.logger.info("stopping", { idleMs: exitWhenIdleMs });
    // It stops listening in this very turn, so that new clients find no server instead of one that is ending.
    exitAfter(server.close());
  };
  const replaced = (): void => {
    if (url !== "none") return;
    writeErr(
      `a newer executor named ${fleet?.id} has joined the fleet: this one stops, because clients can no longer reach it\n`,
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
  const refused = (reason: string): void => {
    writeErr(`Error: ${reason}\n`);
    exitAfter(server.close(), 1);
  };
  const relay = typeof remote === "object" ? { ...remote.options, refused } : undefined;
  const starting = startListening({
    ...options,
    listen: url,
    // The flags have already decided whether it may run without authentication.
    insecureNoAuth: true,
    ...defined({
      fleet: fleet && { ...fleet, keepTrying: true, replaced },
      relay,
      idle: exitWhenIdleMs === undefined ? undefined : { afterMs: exitWhenIdleMs, call: stopWhenIdle },
    }),
  });
  const stdinEnd = typeof remote === "object" ? remote.stdinEnd : undefined;
  const server = await startedBefore(stdinEnd, starting);
  endWithStdin(stdinEnd, () => server.close());
  onStopSignal(async (signal) => {
    options.logger.info("stopping", { signal });
    if (signal === "SIGTERM") await server.drain();
    await server.close();
  });
  await writeOut(`${server.url}\n`).catch(async (error: unknown) => {
    await server.close();
    throw new Failure(`cannot write to stdout: ${describeFileError(error)}`);
  });
  manager.ready();
  if (typeof remote === "object") writeErr(`Key: ${remote.fingerprint}\n`);
  const consoleUrl = server.consoleLink();
  const needsToken = options.authentication !== undefined;
  if (isatty(2))
    writeErr(welcome({ url: server.url, needsToken, consoleUrl, fleet, durable: options.durable }));
  else if (consoleUrl !== undefined) writeErr(consoleLine(consoleUrl, needsToken));
}

async function serveStdio(options: Options): Promise<void> {
  const server = await startListening({ ...options, listen: "stdio" });
  onStopSignal(() => server.close());
  exitAfter(server.closed);
}

/** The same key for all servers of the user. */
function consoleKeyPath(): string | undefined {
  const directory = stateDirectory();
  return directory && join(directory, "console.key");
}

import { PassThrough } from "node:stream";
import { CODEX_VERSION, CODEX_VERSIONS } from "../../scripts/install-codex.mjs";
import { JsonLinesTransport } from "../../src/transport/json-lines.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { openLinesPeer, openMemoryPeer, openStdioPeer, openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import type { Requirement, RequirementTransport } from "./requirements/requirement.ts";
import { launch, type ServerKind, type ServerProcess } from "./server-process.ts";

export interface TargetInfo {
  readonly name: string;
  readonly kind: ServerKind | "external";
  readonly transport: RequirementTransport;
  /** Release of the real server. Default: the newest. */
  readonly codexVersion?: string;
  /** Each stdio peer is a bridge to one server. Only if it is named. */
  readonly bridged?: true;
  /** Memory, with a NATS server in between. Only if it is named. */
  readonly overNats?: true;
  /** The same through a relay, a separate program, with the server as an executor. Only on request. */
  readonly overRelay?: true;
  /** The lines of stdio come from and go to a server in the program of the tests. */
  readonly inside?: true;
}

/** A target that has been started. */
export interface Target extends TargetInfo {
  /** Where the shared server listens; absent unless the transport is ws. */
  readonly url?: string;
  /** The shared server's process; absent unless this suite started one. */
  readonly server?: ServerProcess;
  /** Opens a connection on which nothing has been sent. */
  connect(): Promise<RawPeer>;
  stop(): Promise<void>;
}

const known: readonly TargetInfo[] = [
  { name: "ours-ws", kind: "ours", transport: "ws" },
  { name: "ours-stdio", kind: "ours", transport: "stdio" },
  { name: "ours-lines", kind: "ours", transport: "stdio", inside: true },
  { name: "ours-memory", kind: "ours", transport: "memory" },
  { name: "ours-cli", kind: "ours", transport: "cli" },
  { name: "codex-ws", kind: "codex", transport: "ws" },
  { name: "codex-stdio", kind: "codex", transport: "stdio" },
  { name: "codex-cli", kind: "codex", transport: "cli" },
  { name: "ours-bridge", kind: "ours", transport: "stdio", bridged: true },
  { name: "codex-bridge", kind: "codex", transport: "stdio", bridged: true },
  { name: "ours-nats", kind: "ours", transport: "memory", overNats: true },
  { name: "ours-relay", kind: "ours", transport: "memory", overRelay: true },
  { name: "codex-relay", kind: "codex", transport: "memory", overRelay: true },
  ...CODEX_VERSIONS.slice(1).flatMap((codexVersion) =>
    (["ws", "stdio", "cli"] as const).map(
      (transport): TargetInfo => ({
        name: `codex-${codexVersion}-${transport}`,
        kind: "codex",
        transport,
        codexVersion,
      }),
    ),
  ),
];

/** The targets of a requirement: those of the environment, else all that add something. */
export function targetsFor(requirement: Requirement): readonly TargetInfo[] {
  return selectedTargets(requirement).filter((target) => {
    if (requirement.origin === "ours" && target.kind !== "ours") return false;
    if (requirement.origin === "codex" && target.kind === "ours") return false;
    if (!holdsFor(requirement, target.codexVersion ?? CODEX_VERSION)) return false;
    if (requirement.transports === undefined) return target.transport !== "cli";
    return requirement.transports.includes(target.transport);
  });
}

/** This project speaks as the newest release does. */
function holdsFor({ since = "", until = CODEX_VERSION }: Requirement, version: string): boolean {
  const isUpTo = (one: string, other: string) => one.localeCompare(other, "en", { numeric: true }) <= 0;
  return isUpTo(since, version) && isUpTo(version, until);
}

function selectedTargets(requirement: Requirement): readonly TargetInfo[] {
  if (process.env["TARGET"]) return [{ name: "external", kind: "external", transport: "ws" }];
  const names = process.env["CONFORMANCE_TARGETS"]?.split(",").map((name) => name.trim());
  if (names !== undefined) {
    const unknown = names.filter((name) => known.every((target) => target.name !== name));
    if (unknown.length > 0) throw new Error(`unknown conformance targets: ${unknown.join(", ")}`);
    return known.filter((target) => names.includes(target.name));
  }
  // The real server says the same on both of its carriers: stdio is asked only for what is about stdio. So is the
  // program, of which every peer would need a process: for everything else, only the carrier is the same.
  const aboutStdio = requirement.transports?.includes("stdio") ?? false;
  return known.filter(
    ({ transport, codexVersion, bridged, overNats, overRelay, inside = false }) =>
      (codexVersion !== undefined) === (requirement.until !== undefined) &&
      bridged !== true &&
      overNats !== true &&
      overRelay !== true &&
      (transport !== "stdio" || inside !== aboutStdio),
  );
}

/** For `launch`. */
export function releaseOf({ codexVersion }: TargetInfo): { codexVersion?: string } {
  return codexVersion === undefined ? {} : { codexVersion };
}

export async function startTarget(info: TargetInfo): Promise<Target> {
  return starters[info.transport](info);
}

const starters: Record<RequirementTransport, (info: TargetInfo) => Promise<Target>> = {
  ws: startWebSocket,
  stdio: startStdio,
  memory: startMemory,
  cli: startNothing,
};

async function startWebSocket(info: TargetInfo): Promise<Target> {
  if (info.kind === "external") {
    const url = process.env["TARGET"] ?? "";
    return { ...info, url, connect: () => openWebSocketPeer(url), stop: async () => {} };
  }
  const server = await launch(info.kind, ["--listen", "ws://127.0.0.1:0"], releaseOf(info));
  try {
    const url = await server.banner();
    return { ...info, url, server, connect: () => openWebSocketPeer(url), stop: () => server.stop() };
  } catch (error) {
    await server.stop("SIGKILL");
    throw error;
  }
}

async function startStdio(info: TargetInfo): Promise<Target> {
  return info.inside === true ? startLines(info) : startPrograms(info);
}

async function startLines(info: TargetInfo): Promise<Target> {
  const { createServer } = await import("../../src/server/index.ts");
  const server = createServer({ environment: process.env, keepProcesses: false });
  return {
    ...info,
    async connect() {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      server.accept(new JsonLinesTransport(stdin, stdout, "exec-server stdio"), {
        resumable: false,
        from: "stdio",
        ended: () => stdout.end(),
      });
      const drop = (): void => {
        stdin.destroy();
        stdout.destroy();
      };
      return openLinesPeer({ stdin, stdout, drop });
    },
    stop: () => server.close(),
  };
}

async function startPrograms(info: TargetInfo): Promise<Target> {
  if (info.kind === "external") throw new Error("an external target is a ws URL");
  const { kind } = info;
  const servers: ServerProcess[] = [];
  const remote = info.bridged === true ? await launch(kind, ["--listen", "ws://127.0.0.1:0"]) : undefined;
  if (remote !== undefined) servers.push(remote);
  const url = await remote?.banner();
  const launchNext = async () => {
    const server =
      url === undefined
        ? await launch(kind, ["--listen", "stdio"], { keepStdout: false, ...releaseOf(info) })
        : await launch("ours", ["bridge", "--stdio", "--url", url], { keepStdout: false });
    servers.push(server);
    return server;
  };
  // Every peer has its own server; the next one starts while the current test runs.
  let next = launchNext();
  await next;
  return {
    ...info,
    async connect() {
      const own = next;
      next = launchNext();
      next.catch(() => {}); // The next connection gets the error.
      return openStdioPeer((await own).child);
    },
    async stop() {
      await next.catch(() => {}); // It never served anyone.
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function startMemory(info: TargetInfo): Promise<Target> {
  if (info.overNats === true) return startOverNats(info);
  if (info.overRelay === true) return startOverRelay(info);
  const { createServer } = await import("../../src/server/index.ts");
  const server = createServer({ environment: process.env });
  return {
    ...info,
    async connect() {
      const [ours, theirs] = createMemoryPair();
      server.accept(theirs);
      return openMemoryPeer(ours);
    },
    async stop() {
      await server.close();
    },
  };
}

async function startOverNats(info: TargetInfo): Promise<Target> {
  const { createServer } = await import("../../src/server/index.ts");
  const { openFleetScene } = await import("../fixtures/fleet-scene.ts");
  const server = createServer({ environment: process.env });
  const scene = await openFleetScene(server);
  return {
    ...info,
    connect: async () => openMemoryPeer(await scene.dial()),
    async stop() {
      await server.close();
      await scene[Symbol.asyncDispose]();
    },
  };
}

async function startNothing(info: TargetInfo): Promise<Target> {
  return {
    ...info,
    connect: () => Promise.reject(new Error("a cli requirement starts its own servers")),
    stop: async () => {},
  };
}

async function startOverRelay(info: TargetInfo): Promise<Target> {
  if (info.kind === "external") throw new Error("an external target is a ws URL");
  const { RelayProgram } = await import("../relay/relay-program.ts");
  const relay = await RelayProgram.start();
  const server = await relay.executor(info.kind, "there");
  const open = await relay.reach("there");
  return {
    ...info,
    server,
    connect: async () => openMemoryPeer(await open()),
    async stop() {
      await server.stop();
      await relay[Symbol.asyncDispose]();
    },
  };
}

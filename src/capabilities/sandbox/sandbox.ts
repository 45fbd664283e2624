import { closeSync, writeSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { check, libc } from "../../native/libc.ts";
import { openPipe, type Program, refuseNul } from "../../native/spawn.ts";
import { STAGE_BINARIES } from "../../native/stage/stage-binaries.ts";
import { type Bubblewrap, findBubblewrap, locateBubblewrap, unavailable } from "./bubblewrap/bubblewrap.ts";
import {
  type Bind,
  bubblewrapArguments,
  DESCRIPTORS,
  expectedMounts,
  STAGE_PATH,
} from "./bubblewrap/bubblewrap-arguments.ts";
import { diagnose } from "./diagnosis.ts";
import { readMachineFacts } from "./machine-facts.ts";
import type { FileView } from "./view/file-view.ts";
import { type PinnedPath, pinBinds } from "./bubblewrap/pinned-paths.ts";
import { Placeholders } from "./bubblewrap/placeholders.ts";
import type { NetworkMode } from "./policy/sandbox-policy.ts";
import { seccompFilter } from "./seccomp/seccomp-filter.ts";
import type { Architecture } from "./seccomp/system-calls.ts";

/** What a process is confined to. */
export interface Confinement {
  readonly view: FileView;
  readonly network: NetworkMode;
  /** For a `proxied` network: ports to listen on inside, and the socket on which the listeners are sent. */
  readonly listeners?: { readonly ports: readonly number[]; readonly socket: number };
  /** Certificates that the program should trust, in PEM. They are shown at `TRUST_PATH`. */
  readonly trust?: string;
  /** Parts of the disk that the program needs even if the view hides them. */
  readonly binds?: readonly Bind[];
  /** Set for the trial of the sandbox itself, which precedes all other sandboxes. */
  readonly isTrial?: boolean;
}

/** Result of a sandbox trial. */
export interface Trial {
  /** What was possible although it must not be. */
  readonly weaknesses: readonly string[];
  /** Why nothing could be run, as bubblewrap says it. */
  readonly failure: string | undefined;
}

/** A program to be run inside, which is looked up there. */
export interface InnerProgram {
  readonly name: string;
  /** Includes the name that the program sees. */
  readonly argv: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string | Uint8Array;
  /** Whether its stdin is a terminal that it should control. */
  readonly onTerminal: boolean;
}

export interface ConfinedProgram {
  readonly program: Program;
  /** Call it when the program has been started, or has not. */
  readonly started: () => void;
  /** Call it when the program has ended. */
  readonly ended: () => void;
}

const MFD_CLOEXEC = 1;
/** Time until a failed trial is repeated: the machine may have been fixed. */
const RETRY_TRIAL_MS = 5_000;
/** How long after its end data from a sandbox may still be read. */
const NETWORK_MEMORY_MS = 60_000;

/** Runs programs in sandboxes. */
export class Sandbox {
  readonly #searchPath: string | undefined;
  readonly #placeholders = new Placeholders();
  readonly #filters = new Map<NetworkMode, Buffer>();
  #bubblewrap: Promise<Bubblewrap> | undefined;
  #trial: Promise<void> | undefined;
  #stage: Buffer | undefined;
  #networked = 0;
  #lastNetworkedAt = Number.NEGATIVE_INFINITY;

  /** `searchPath` is the PATH of the server. */
  constructor(searchPath: string | undefined) {
    this.#searchPath = searchPath;
  }

  /** Whether the requirements of a sandbox are installed. Only a trial shows whether it works. */
  get isInstalled(): boolean {
    return isSupported(process.arch) && locateBubblewrap(this.#searchPath) !== undefined;
  }

  /** Throws an UNSUPPORTED error if it is missing. The next call looks again. */
  async bubblewrap(): Promise<Bubblewrap> {
    this.#bubblewrap ??= findBubblewrap(this.#searchPath);
    try {
      return await this.#bubblewrap;
    } catch (error) {
      this.#bubblewrap = undefined;
      throw error;
    }
  }

  /** Tries the sandbox once, before anything relies on it. Throws an UNSUPPORTED error if it does not hold. */
  async prove(tryIt: () => Promise<Trial>): Promise<void> {
    await this.bubblewrap();
    this.#trial ??= tryIt().then(assertHolds);
    try {
      await this.#trial;
    } catch (error) {
      const failed = this.#trial;
      setTimeout(() => {
        if (this.#trial === failed) this.#trial = undefined;
      }, RETRY_TRIAL_MS).unref();
      throw error;
    }
  }

  /** Whether something inside may be using the network of this machine, or may just have done so. */
  get usesNetwork(): boolean {
    return this.#networked > 0 || performance.now() - this.#lastNetworkedAt < NETWORK_MEMORY_MS;
  }

  /** The command that runs a program confined. Throws a CapabilityError if this machine cannot do it. */
  async confine(inner: InnerProgram, confinement: Confinement): Promise<ConfinedProgram> {
    const architecture = ownArchitecture();
    const { path, limitsSize, mountsDescriptors } = await this.bubblewrap();
    const { view, network, listeners, trust, binds } = confinement;
    const cwd = textOf(inner.cwd);
    const release = await this.#placeholders.hold(view);
    const ended = (): void => {
      release();
      if (network !== "enabled") return;
      this.#networked -= 1;
      this.#lastNetworkedAt = performance.now();
    };
    if (network === "enabled") this.#networked += 1;
    const opened: number[] = [];
    const started = (): void => {
      for (const fd of opened.splice(0)) closeSync(fd);
    };
    try {
      const filter = pipeWith(this.#filter(architecture, network), opened);
      const stage = pipeWith(this.#stageBytes(architecture), opened);
      const environment = environmentOf(inner.env, cwd);
      const mounts = expectedMounts(view);
      const lists = fileWith(Buffer.concat([mounts, environment]), opened);
      const pinned = mountsDescriptors ? pinBinds(view) : [];
      opened.push(...pinned.map(({ fd }) => fd));
      const numbers = numbersFor(pinned);
      const descriptors = [
        { from: filter, to: DESCRIPTORS.filter },
        { from: stage, to: DESCRIPTORS.stage },
        { from: lists, to: DESCRIPTORS.lists },
        ...(listeners === undefined ? [] : [{ from: listeners.socket, to: DESCRIPTORS.listeners }]),
        ...(trust === undefined
          ? []
          : [{ from: fileWith(Buffer.from(trust), opened), to: DESCRIPTORS.trust }]),
        ...pinned.map((pin) => ({ from: pin.fd, to: numbers.get(pin.path)! })),
      ];
      const options = bubblewrapArguments({
        view,
        network,
        cwd,
        binds,
        showsTrust: trust !== undefined,
        limitsSize,
        pinned: numbers,
      });
      const stageArguments = [
        inner.onTerminal ? "t" : "-",
        ...(listeners === undefined
          ? ["-", "-"]
          : [String(DESCRIPTORS.listeners), listeners.ports.join(",")]),
        String(DESCRIPTORS.lists),
        String(mounts.length),
        String(environment.length),
        inner.name,
      ];
      const argv = ["bwrap", ...options, "--", STAGE_PATH, ...stageArguments, ...inner.argv];
      return {
        // Variables such as LD_PRELOAD would affect bubblewrap, outside of the sandbox.
        program: { path, argv, env: [], cwd: "/", descriptors },
        started,
        ended,
      };
    } catch (error) {
      started();
      ended();
      throw error;
    }
  }

  #filter(architecture: Architecture, network: NetworkMode): Buffer {
    let filter = this.#filters.get(network);
    if (filter === undefined) {
      filter = seccompFilter(architecture, network);
      this.#filters.set(network, filter);
    }
    return filter;
  }

  #stageBytes(architecture: Architecture): Buffer {
    this.#stage ??= Buffer.from(STAGE_BINARIES[architecture], "base64");
    return this.#stage;
  }
}

function assertHolds({ weaknesses, failure }: Trial): void {
  if (failure !== undefined) {
    const { problem, remedies } = diagnose(failure, readMachineFacts());
    throw unavailable(
      `${problem}: ${failure}; remedy: ${remedies.join("; ")}; \`exec-server doctor\` says more`,
    );
  }
  if (weaknesses.length > 0) throw unavailable(`a program inside could ${weaknesses.join(", ")}`);
}

function isSupported(arch: string): arch is Architecture {
  return arch === "x64" || arch === "arm64";
}

function ownArchitecture(): Architecture {
  const { arch } = process;
  if (isSupported(arch)) return arch;
  throw unavailable(`it supports x64 and arm64, but not ${arch}`);
}

/** Numbers for the child that do not collide with the descriptors here, which are copied one after another. */
function numbersFor(pinned: readonly PinnedPath[]): Map<string, number> {
  const taken = new Set(pinned.map(({ fd }) => fd));
  let next: number = DESCRIPTORS.firstPinned;
  return new Map(
    pinned.map(({ path }) => {
      while (taken.has(next)) next += 1;
      return [path, next++];
    }),
  );
}

/** Options are text. */
function textOf(path: string | Uint8Array): string {
  if (typeof path === "string") return path;
  throw new CapabilityError("INVALID_INPUT", "the working directory of a sandboxed process must be UTF-8");
}

/** The read end of a pipe that holds the bytes, which are fewer than any pipe can hold. */
function pipeWith(bytes: Buffer, opened: number[]): number {
  const { readEnd, writeEnd } = openPipe();
  opened.push(readEnd);
  try {
    writeSync(writeEnd, bytes);
  } finally {
    closeSync(writeEnd);
  }
  return readEnd;
}

/** PWD names the directory in which the program starts, as on a Codex server. */
function environmentOf(env: readonly string[], cwd: string): Buffer {
  refuseNul(env, "data provided contains a nul byte");
  const entries = [...env.filter((entry) => !entry.startsWith("PWD=")), `PWD=${cwd}`];
  return Buffer.from(entries.map((entry) => `${entry}\0`).join(""));
}

/** A file in memory, for more bytes than a pipe can hold. Its reader begins where it begins. */
function fileWith(bytes: Buffer, opened: number[]): number {
  const fd = check(libc().memfdCreate("lists", MFD_CLOEXEC));
  opened.push(fd);
  for (let written = 0; written < bytes.length; )
    written += writeSync(fd, bytes, written, undefined, written);
  return fd;
}

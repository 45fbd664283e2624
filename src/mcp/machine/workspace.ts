import { abortable } from "../../base/deadlines.ts";
import { ExecError } from "../../base/errors.ts";
import { pathFromUri, uriFromPath } from "../../base/file-uri.ts";
import { visibleText } from "../../base/visible-text.ts";
import { sandboxFor } from "../../client/calls/sandbox.ts";
import { FileError } from "../../client/files/file-error.ts";
import type { Files } from "../../client/files/files.ts";
import type { NamedSecret } from "../../client/process/start-request.ts";
import type { Host } from "../../client/host/host.ts";
import { pathOfServer } from "../../client/tools/working-directory.ts";
import { sandboxContext } from "../../protocol/sandbox-options.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";

/**
 * `none` lets tools do whatever the server may. With `files`, the server lets this client reach files below the roots,
 * and nothing else.
 */
export type Confinement = "workspace-write" | "read-only" | "files" | "none";

/** What tools may change, and where they work. */
export interface WorkspaceOptions {
  /** Absolute paths of directories. Empty: `directory`. */
  readonly roots: readonly string[];
  /** Default: the server's working directory. */
  readonly directory?: string;
  /** The home directory of this program's user, if it is one on that machine. */
  readonly home?: string;
  readonly confinement: Confinement;
  /** Whether commands have a network. */
  readonly network: boolean;
  /** What commands use and do not have. */
  readonly secrets?: readonly NamedSecret[] | undefined;
}

/** A place for one call. */
export interface Place {
  readonly host: Host;
  /** Base of relative paths. */
  readonly cwd: string;
  /** Confined like the commands. */
  readonly files: Files;
  /** The same without write access, for what only reads: a sandbox reserves names in a writable directory. */
  readonly readableFiles: Files;
  /** Undefined: no confinement. */
  readonly sandbox: SandboxContext | undefined;
  /** For commands that only read. */
  readonly readOnly: SandboxContext | undefined;
}

/**
 * The roots, and the sandbox that they mean. A root is the directory to which its path led at first: if something else
 * takes its place, such as a link, calls are refused.
 */
export class Workspace {
  readonly #options: WorkspaceOptions;
  /** Without links. */
  #roots: readonly string[] | undefined;
  #findingRoots: Promise<readonly string[]> | undefined;
  /** What the client works on, as it says. */
  #clientPaths: readonly string[] | undefined;
  /** The same without links. */
  #clientRoots: readonly string[] | undefined;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

  get hasNetwork(): boolean {
    return this.#options.network || this.#options.confinement === "none";
  }

  /** What a model should know, in a sentence. */
  get description(): string {
    const { confinement, network, secrets = [] } = this.#options;
    if (confinement === "none") return "There is no sandbox: commands may do whatever the server's user may.";
    if (confinement === "files") return `Only files below ${this.#shownRoots} are within reach.`;
    const hasNone = this.#writable?.length === 0;
    const reason = hasNone ? ", because the directories that your client works on lie outside of --root" : "";
    const changes =
      confinement === "read-only" || hasNone
        ? `they can change no file${reason}`
        : `they can write below ${this.#shownRoots} and in /tmp only, but not to .git there`;
    const names = secrets.map(({ name }) => name).join(", ");
    const reach =
      names === ""
        ? ""
        : `, except the hosts of ${names}: the variables hold stand-ins, to be sent there as they are`;
    return `Commands run in a sandbox: ${changes}${network ? "" : `; they have no network${reach}`}.`;
  }

  /** Where commands start, for a model. */
  get shownDirectory(): string {
    const { roots, directory } = this.#options;
    const [first] = this.#roots ?? roots;
    return visibleText(first ?? directory ?? "the server's working directory");
  }

  get #shownRoots(): string {
    const { roots, directory } = this.#options;
    const known = this.#writable ?? (roots.length > 0 || directory === undefined ? roots : [directory]);
    return known.length === 0 ? "the server's working directory" : known.map(visibleText).join(", ");
  }

  /** The roots, narrowed to what the client works on. Undefined until they are known. */
  get #writable(): readonly string[] | undefined {
    const client = this.#clientRoots;
    if (this.#roots === undefined || client === undefined) return this.#roots;
    const narrowed = this.#roots.flatMap((root) =>
      client.flatMap((path) => (isWithin(path, root) ? [path] : isWithin(root, path) ? [root] : [])),
    );
    return [...new Set(narrowed)];
  }

  /** Narrows the roots to what a client on the same machine works on. */
  narrow(paths: readonly string[]): void {
    this.#clientPaths = paths;
  }

  /** Checks the roots. Throws an ExecError that tells a model, or its user, what to change. */
  async enter(host: Host, signal: AbortSignal): Promise<Place> {
    this.#roots ??= await abortable(this.#findTogether(host), signal);
    await Promise.all(this.#roots.map((root) => checkRoot(host, root, signal)));
    if (this.#clientPaths !== undefined) this.#clientRoots = await realPaths(host, this.#clientPaths, signal);
    const writable = this.#writable ?? [];
    const cwd = writable[0] ?? this.#roots[0]!;
    const sandbox = this.#sandbox(host, writable, cwd);
    const readOnly = sandbox && contextFor(host, "read-only", cwd);
    return {
      host,
      cwd,
      files: sandbox === undefined ? host.files : host.files.within(sandbox),
      readableFiles: readOnly === undefined ? host.files : host.files.within(readOnly),
      sandbox,
      readOnly,
    };
  }

  #sandbox(host: Host, writable: readonly string[], cwd: string): SandboxContext | undefined {
    const { confinement, network } = this.#options;
    if (confinement === "none" || confinement === "files") return undefined;
    const preset = writable.length === 0 ? "read-only" : confinement;
    const context = contextFor(host, preset, cwd);
    // Other servers than this project's do not know `realRoots`, and might refuse it.
    const own = host.environment?.extensions === undefined ? {} : { realRoots: true };
    return withNetwork({ ...context, workspaceRoots: writable.map(uriFromPath), ...own }, network);
  }

  /** Calls that come together find them once: the first answer counts. */
  #findTogether(host: Host): Promise<readonly string[]> {
    this.#findingRoots ??= this.#findRoots(host).finally(() => {
      this.#findingRoots = undefined;
    });
    return this.#findingRoots;
  }

  async #findRoots(host: Host): Promise<readonly string[]> {
    const { roots, directory } = this.#options;
    if (roots.length > 0) return await Promise.all(roots.map((root) => realDirectory(host, root)));
    const named = directory ?? pathOfServer(host.environment?.cwd);
    if (named === undefined)
      throw new ExecError(
        "USAGE",
        "the server does not say where it runs; start this program with --root PATH",
      );
    const root = await realDirectory(host, named);
    await this.#checkDefault(host, root);
    return [root];
  }

  /** Clients start programs wherever they are: the whole disk, or all of a user's files, must be asked for by name. */
  async #checkDefault(host: Host, root: string): Promise<void> {
    if (this.#options.confinement === "none") return;
    const named = [pathOfServer(host.environment?.userHomeDir), this.#options.home].filter(
      (home) => home !== undefined,
    );
    // A home that does not exist cannot be changed either.
    const homes = await Promise.all(named.map((home) => host.files.realpath(home).catch(() => undefined)));
    const what = root === "/" ? "the root of the disk" : "the home directory, or holds it";
    if (root === "/" || homes.some((home) => home !== undefined && isWithin(home, root)))
      throw new ExecError(
        "USAGE",
        `the working directory ${visibleText(root)} is ${what}; name the directories that may be changed: start this program with --root PATH`,
      );
  }
}

function contextFor(host: Host, preset: "workspace-write" | "read-only", cwd: string): SandboxContext {
  return sandboxFor(host, sandboxContext(preset, uriFromPath(cwd)));
}

function withNetwork(context: SandboxContext, network: boolean): SandboxContext {
  const { permissions } = context;
  if (!network || permissions.type !== "managed") return context;
  return { ...context, permissions: { ...permissions, network: "enabled" } };
}

async function realDirectory(host: Host, path: string): Promise<string> {
  try {
    const real = await host.files.realpath(path);
    const { kind } = await host.files.stat(real);
    if (kind === "directory") return real;
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new ExecError(error.code, `the root ${visibleText(path)} cannot be used: ${error.message}`);
  }
  throw new ExecError("USAGE", `the root ${visibleText(path)} is not a directory`);
}

/** What does not exist grants nothing. */
async function realPaths(host: Host, paths: readonly string[], signal: AbortSignal): Promise<string[]> {
  const real = paths.map(async (path) => {
    try {
      return [await host.files.realpath(path, { signal })];
    } catch (error) {
      if (error instanceof FileError) return [];
      throw error;
    }
  });
  return (await Promise.all(real)).flat();
}

async function checkRoot(host: Host, root: string, signal: AbortSignal): Promise<void> {
  let now: string;
  try {
    now = await host.files.realpath(root, { signal });
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new ExecError(
      error.code,
      `the root ${visibleText(root)} cannot be used any more: ${error.message}`,
    );
  }
  if (now !== root)
    throw new ExecError(
      "PERMISSION_DENIED",
      `the root ${visibleText(root)} has been replaced by a link to ${visibleText(now)}; ask your user to put it back, or to start this program again`,
    );
}

/** The paths of `file:` URIs, which is what roots of a client are. Others grant nothing. */
export function pathsOfRoots(uris: readonly string[]): string[] {
  return uris.flatMap((uri) => {
    try {
      const path = pathFromUri(uri);
      return typeof path === "string" ? [path] : [];
    } catch {
      return [];
    }
  });
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

import { CapabilityError } from "../../../base/errors.ts";
import {
  retryIfViewChanges,
  ViewChangedError,
} from "../../../capabilities/sandbox/bubblewrap/pinned-paths.ts";
import { type FileView, sameView } from "../../../capabilities/sandbox/view/file-view.ts";
import type { OwnProcess, ProcessStarter } from "../../../capabilities/process/process-starter.ts";
import { perClient } from "../../wire/per-client.ts";
import type { FileClient } from "../file-client.ts";
import type { NotifyChange } from "../watches.ts";
import { FileHelper } from "./file-helper.ts";
import type { FilePolicy } from "./file-policy.ts";
import { type HelperProgram, helperProgram } from "./helper-program.ts";
import { type HelperNotification, type HelperSettings, identityOf } from "./helper-messages.ts";

/** Each takes about 40 MB. */
const MAX_PER_CONNECTION = 8;
const MAX_PER_SERVER = 64;
const IDLE_MS = 60_000;
/** Names that must not be created are empty directories for as long as the sandbox lives, and everybody sees them. */
const IDLE_WITH_PLACEHOLDERS_MS = 10_000;

export interface FileHelpersOptions {
  readonly starter: Pick<ProcessStarter, "startOwn">;
  readonly settings: Omit<HelperSettings, "mounts">;
}

/** A running helper and what the client keeps open in it. */
export interface Confined {
  readonly helper: FileHelper;
  readonly handles: Set<string>;
  readonly watches: Map<string, NotifyChange>;
  /** Whether it watches missing paths. */
  watchesMissing: boolean;
}

interface Entry extends Confined {
  readonly client: FileClient;
  readonly key: string;
  readonly view: FileView;
  /** Calls that are running. */
  users: number;
  usedAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Whether its view is outdated. */
  isOld: boolean;
}

/**
 * The helpers of a server. One serves the calls of one connection under one policy, as long as the policy gives the
 * same view: files created since a helper's start may be readable in it although the policy hides them.
 */
export class FileHelpers {
  readonly #options: FileHelpersOptions;
  readonly #entries = new Set<Entry>();
  readonly #entriesOf = perClient<FileClient, Set<Entry>>(
    () => new Set(),
    (entries) => {
      for (const { helper } of entries) helper.end();
    },
  );
  #program: HelperProgram | undefined;

  constructor(options: FileHelpersOptions) {
    this.#options = options;
  }

  /** Runs work with the helper for a call that is made now. */
  use<T>(client: FileClient, policy: FilePolicy, work: (confined: Confined) => Promise<T>): Promise<T> {
    // Nothing has been done when a helper turns out not to show what it should.
    return retryIfViewChanges(async () => {
      const view = await policy.view();
      if (client.signal.aborted) throw new CapabilityError("OS_ERROR", "the connection has ended");
      const entry = this.#find(client, policy, view);
      return this.#run(entry, async () => {
        await entry.helper.ready;
        return work(entry);
      });
    });
  }

  /** Runs work with the helper that holds something. */
  again<T>(confined: Confined, work: () => Promise<T>): Promise<T> {
    return this.#run(confined as Entry, work);
  }

  async #run<T>(entry: Entry, work: () => Promise<T>): Promise<T> {
    entry.users += 1;
    entry.usedAt = performance.now();
    clearTimeout(entry.timer);
    try {
      return await work();
    } finally {
      entry.users -= 1;
      this.#endIfUnused(entry);
    }
  }

  #find(client: FileClient, policy: FilePolicy, view: FileView): Entry {
    const { key } = policy;
    const own = this.#entriesOf(client);
    for (const entry of own) {
      if (entry.key !== key || entry.isOld) continue;
      if (entry.helper.isUsable && sameView(entry.view, view)) return entry;
      entry.isOld = true;
      this.#endIfUnused(entry);
    }
    this.#makeRoom(own);
    const entry: Entry = {
      client,
      key,
      view,
      helper: this.#createHelper(client, policy, view, (notification) => relay(client, entry, notification)),
      handles: new Set(),
      watches: new Map(),
      watchesMissing: false,
      users: 0,
      usedAt: performance.now(),
      timer: undefined,
      isOld: false,
    };
    this.#entries.add(entry);
    own.add(entry);
    void entry.helper
      .run(() => this.#start(view))
      .then(() => {
        this.#forget(entry);
        for (const notify of entry.watches.values()) void notify({ paths: [], overflow: true, ended: true });
      });
    return entry;
  }

  async #start(view: FileView): Promise<OwnProcess> {
    this.#program ??= helperProgram();
    const { path, argv, binds } = this.#program;
    return this.#options.starter.startOwn(
      { name: path, argv, env: [], cwd: "/", onTerminal: false },
      { view, network: "restricted", binds },
    );
  }

  #createHelper(
    client: FileClient,
    policy: FilePolicy,
    view: FileView,
    notified: (notification: HelperNotification) => Promise<void> | undefined,
  ): FileHelper {
    const shown = view.mounts.filter(({ kind }) => kind === "readOnly" || kind === "writable");
    return new FileHelper({
      client,
      settings: {
        ...this.#options.settings,
        ...(client.rights.files === undefined ? {} : { fsRoots: client.rights.files.roots }),
        mounts: shown.map(({ path }) => path),
      },
      accept: async ({ mounts }) => {
        const isMounted = shown.every(({ path }, index) => mounts[index] === identityOf(path));
        if (!isMounted || !sameView(await policy.view(), view))
          throw new ViewChangedError(
            "fs sandbox helper failed: the files of its policy were replaced while it started",
          );
      },
      notified,
    });
  }

  /** Ends the helper that has been unused for longest. Throws if there are too many, and all of them are in use. */
  #makeRoom(own: ReadonlySet<Entry>): void {
    if (own.size >= MAX_PER_CONNECTION) this.#endOldest(own, "this connection");
    if (this.#entries.size >= MAX_PER_SERVER) this.#endOldest(this.#entries, "the server");
  }

  #endOldest(entries: ReadonlySet<Entry>, whose: string): void {
    let oldest: Entry | undefined;
    for (const entry of entries) {
      if (isInUse(entry)) continue;
      if (oldest === undefined || entry.usedAt < oldest.usedAt) oldest = entry;
    }
    if (oldest === undefined)
      throw new CapabilityError(
        "LIMIT_REACHED",
        `${whose} has ${entries.size} file sandboxes, all of them in use: close file handles or watches`,
      );
    this.#end(oldest);
  }

  #endIfUnused(entry: Entry): void {
    if (isInUse(entry)) return;
    if (entry.isOld || !entry.helper.isUsable) {
      this.#end(entry);
      return;
    }
    clearTimeout(entry.timer);
    const hasPlaceholders = entry.view.mounts.some(({ kind }) => kind.startsWith("absent"));
    const idleMs = hasPlaceholders ? IDLE_WITH_PLACEHOLDERS_MS : IDLE_MS;
    entry.timer = setTimeout(() => this.#end(entry), idleMs);
    entry.timer.unref();
  }

  /** It no longer counts, although its process may need a moment. */
  #end(entry: Entry): void {
    entry.helper.end();
    this.#forget(entry);
  }

  #forget(entry: Entry): void {
    entry.isOld = true;
    this.#entries.delete(entry);
    this.#entriesOf(entry.client).delete(entry);
    clearTimeout(entry.timer);
  }
}

/** Forwards a helper's notifications: changes of what it watches. */
function relay(
  client: FileClient,
  confined: Confined,
  notification: HelperNotification,
): Promise<void> | undefined {
  if (notification.method === "fs/missingChanged") {
    confined.watchesMissing = false;
    client.notify(notification.method, notification.params);
    return client.drained();
  }
  const { watchId, ...change } = notification.params;
  const notify = confined.watches.get(watchId);
  if (change.ended) confined.watches.delete(watchId);
  return notify?.(change);
}

function isInUse({ users, handles, watches, watchesMissing }: Entry): boolean {
  return users > 0 || handles.size > 0 || watches.size > 0 || watchesMissing;
}

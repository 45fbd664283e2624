import { ConnectionError } from "../../../base/errors.ts";
import type { Host } from "../../../client/host/host.ts";
import { type CopyLocation, kindAt } from "../copying/copy-location.ts";
import { Failure, oneLine } from "../../shared/failure.ts";
import { complain } from "../print/complain.ts";
import { print } from "../../shared/standard-streams.ts";
import { printableJson } from "../print/printable.ts";
import { reportRecovery } from "../running/report-recovery.ts";
import type { Changed, SourceChanges } from "./source-changes.ts";
import { type PassOptions, syncOnce } from "./sync-pass.ts";
import { batchLine, type PassResult, passAsJson, summaryLine } from "./sync-report.ts";
import { goneFailure, watchSource } from "./watch-source.ts";

/** Makes a directory like another, and keeps it so. */
export class SyncWatch {
  readonly #source: CopyLocation;
  readonly #destination: CopyLocation;
  readonly #newPass: () => PassOptions;
  readonly #printing: { readonly quiet?: boolean; readonly json?: boolean };
  /** Uses the current patterns. */
  #pass: PassOptions;
  /** Something was left undone, so the next change is a reason to look at everything. */
  #isBehind = false;

  constructor(
    source: CopyLocation,
    destination: CopyLocation,
    newPass: () => PassOptions,
    printing: { readonly quiet?: boolean; readonly json?: boolean },
  ) {
    this.#source = source;
    this.#destination = destination;
    this.#newPass = newPass;
    this.#printing = printing;
    this.#pass = newPass();
  }

  /** Resolves when the signal is aborted between two passes; during one, its reason is thrown. */
  async run(hosts: readonly Host[], signal: AbortSignal): Promise<void> {
    // Before the first pass, so that nothing is missed.
    const changes = await watchSource(this.#source, signal);
    for (const host of hosts) {
      reportRecovery(host);
      host.onStateChange((state) => {
        if (state === "connected") changes.noteEverything();
      });
      void host.closed.then(({ reason }) =>
        changes.end(new Failure(oneLine(reason ?? "the session has ended"))),
      );
    }
    changes.noteEverything();
    for (let isFirst = true; ; ) {
      const changed = await changes.take(signal);
      if (changed === undefined) return;
      const result = await (isFirst
        ? this.#sync(changed, changes, signal)
        : this.#attempt(changed, changes, signal));
      if (result === undefined) continue;
      if (isFirst) await this.#report(result, `${summaryLine(result)}; watching ${this.#source.text}`);
      else if (result.changes.count > 0 || result.failed.length > 0)
        await this.#report(result, batchLine(result));
      isFirst = false;
    }
  }

  /** A pass that fails as a whole may succeed after the next change. */
  async #attempt(
    changed: Changed,
    changes: SourceChanges,
    signal: AbortSignal,
  ): Promise<PassResult | undefined> {
    try {
      return await this.#sync(this.#isBehind ? "everything" : changed, changes, signal);
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== undefined) throw error;
      if ((await kindAt(this.#source)) === undefined) throw goneFailure(this.#source);
      complain(error.message);
      this.#isBehind = true;
      return undefined;
    }
  }

  /** Undefined if nothing that takes part has changed, or if a lost connection was in the way: then it is tried again. */
  async #sync(
    changed: Changed,
    changes: SourceChanges,
    signal: AbortSignal,
  ): Promise<PassResult | undefined> {
    const only = await this.#meant(changed);
    if (only?.length === 0) return undefined;
    try {
      const onUnsteady = (path: string): void => changes.note([path]);
      const options = { ...this.#pass, only, onUnsteady };
      const result = await syncOnce(this.#source, this.#destination, options, signal);
      if (only === undefined) this.#isBehind = false;
      return result;
    } catch (error) {
      const isCut =
        error instanceof ConnectionError && !["SESSION_LOST", "UNAUTHORIZED"].includes(error.code);
      if (!isCut) throw error;
      changes.noteEverything();
      return undefined;
    }
  }

  /** The paths to look at; undefined for everything. */
  async #meant(changed: Changed): Promise<readonly string[] | undefined> {
    const { exclusion } = this.#pass;
    const isWhole =
      changed === "everything" ||
      changed.some((path) => path === "" || exclusion?.isPatternFile(path) === true);
    if (isWhole) {
      this.#pass = this.#newPass();
      return undefined;
    }
    if (exclusion === undefined) return changed;
    const meant: string[] = [];
    for (const path of changed) if (await exclusion.mayTake(path)) meant.push(path);
    return meant;
  }

  async #report(result: PassResult, line: string): Promise<void> {
    const now = new Date();
    if (this.#printing.json === true) {
      const paths = result.changes.listed.map(({ path }) => path);
      await print(`${printableJson({ time: now.toISOString(), ...passAsJson(result), paths })}\n`);
    } else if (this.#printing.quiet !== true) await print(`${clock(now)} ${line}\n`);
  }
}

function clock(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

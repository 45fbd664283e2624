import { isDeepStrictEqual } from "node:util";
import type { Executor, ExecutorChange } from "../../../client/host/executor.ts";
import { Failure } from "../../shared/failure.ts";
import { findFleet } from "../target/hosts/find-fleet.ts";
import { complain } from "../print/complain.ts";
import { print } from "../../shared/standard-streams.ts";
import { stdoutColors } from "../print/colors.ts";
import { printable, printableJson } from "../print/printable.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { asJson, stateStyle } from "./list-fleets.ts";
import { openNamedFleet } from "./open-named-fleet.ts";
import { showLabels } from "./parse-labels.ts";

/** A fleet of 20 000 and some changes. */
const MAX_WAITING_LINES = 50_000;

interface WatchOptions extends Pick<TargetOptions, "debug" | "host" | "tokenFile"> {
  readonly json?: boolean;
}

/** `there`: it was in the fleet already. */
type Kind = ExecutorChange["kind"] | "there";

/** Prints a fleet's members, and then each change as a line, until it is interrupted. */
export async function watchFleet(name: string | undefined, options: WatchOptions): Promise<void> {
  const named = findFleet(name ?? options.host);
  await untilInterrupted(async (signal) => {
    await using fleet = await openNamedFleet(named, options, { signal }).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (fleet === undefined) return;
    const lines = new LinePrinter(signal);
    const shown = new Map<string, Executor>();
    const show = (kind: Kind, executor: Executor): void => {
      const before = shown.get(executor.id);
      if (kind === "left") shown.delete(executor.id);
      else shown.set(executor.id, executor);
      // The load changes every two seconds; people want to see the rest.
      if (options.json !== true && kind === "changed" && before !== undefined && looksSame(before, executor))
        return;
      lines.print(
        options.json === true ? jsonLine(named.name, kind, executor) : line(named.name, kind, executor),
      );
    };
    for (const executor of fleet.list()) show("there", executor);
    if (fleet.list().length === 0) complain(`no executor is connected to the fleet '${named.name}' yet`);
    fleet.watch(({ kind, executor }) => show(kind, executor));
    fleet.onStateChange((state) => {
      if (state === "recovering")
        complain("the connection to NATS is lost; changes are shown when it is back");
      if (state === "connected") complain("connected to NATS again");
    });
    await lines.ended;
  });
}

function looksSame({ load: _load, ...one }: Executor, { load: _other, ...other }: Executor): boolean {
  return isDeepStrictEqual(one, other);
}

function line(fleet: string, kind: Kind, executor: Executor): string {
  const colors = stdoutColors();
  const { id, state, running, free, load, labels } = executor;
  const time = colors.dim(new Date().toTimeString().slice(0, 8));
  const name = colors.bold(printable(`${fleet}/${id}`));
  if (kind === "left") return `${time}  ${name}  ${colors.red("left")}\n`;
  const facts = `${running} running, ${free} free, load ${load.toFixed(2)}`;
  const shown = Object.keys(labels).length === 0 ? "" : `  ${printable(showLabels(labels))}`;
  return `${time}  ${name}  ${kind}  ${stateStyle(state, colors)(state)}, ${facts}${shown}\n`;
}

function jsonLine(fleet: string, kind: Kind, executor: Executor): string {
  const change = { time: new Date().toISOString(), change: kind, ...asJson({ fleet, executor }) };
  return `${printableJson(change)}\n`;
}

/** Prints one line after the other. A reader that has left, or reads nothing, ends it. */
class LinePrinter {
  /** Resolves when the signal is aborted; rejects if a line cannot be written. */
  readonly ended: Promise<void>;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #fail: (error: unknown) => void = () => {};

  constructor(signal: AbortSignal) {
    this.ended = new Promise((resolve, reject) => {
      this.#fail = reject;
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (signal.aborted) resolve();
    });
  }

  print(text: string): void {
    if (this.#waiting >= MAX_WAITING_LINES) {
      this.#fail(new Failure("the output is not being read"));
      return;
    }
    this.#waiting += 1;
    this.#last = this.#last
      .then(() => print(text))
      .then(() => void (this.#waiting -= 1))
      .catch(this.#fail);
  }
}

import { hasLabels } from "../../../client/host/executor.ts";
import type { Fleet } from "../../../client/host/fleet.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { findFleet } from "../target/hosts/find-fleet.ts";
import type { NamedFleet } from "../target/target.ts";
import { complain } from "../print/complain.ts";
import { someOf } from "../print/some-of.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { unknownExecutor } from "../target/connect-executor.ts";
import { openNamedFleet } from "./open-named-fleet.ts";
import { type Labels, showLabels } from "./parse-labels.ts";

/** Options of commands that are about one executor or several. */
export interface ExecutorsOptions extends Pick<TargetOptions, "debug" | "tokenFile" | "host"> {
  /** Labels to select by. Empty for the whole fleet. */
  readonly on?: Labels;
}

/** An executor that is there. */
export interface ChosenExecutor {
  readonly fleet: Fleet;
  readonly named: NamedFleet;
  readonly id: string;
  /** In the form that -H takes. */
  readonly name: string;
}

/** The fleets that a command line is about, and the executors it names there. */
interface Wanted {
  readonly named: NamedFleet;
  /** Undefined: those with the labels. */
  readonly ids: readonly string[] | undefined;
}

/** The executors of a command line. */
export interface Chosen {
  readonly executors: readonly ChosenExecutor[];
  /** False if some were missing or admitted no clients, which has been reported. */
  readonly isComplete: boolean;
}

/** The executors on a command line: `FLEET/NAME …`, or with --on `[FLEET]`. Throws for mistakes. */
export class ExecutorChoice {
  readonly #wanted: readonly Wanted[];
  readonly #options: ExecutorsOptions;

  constructor(words: readonly string[], options: ExecutorsOptions) {
    this.#options = options;
    this.#wanted = options.on === undefined ? namedOnes(words) : [labelled(words, options)];
  }

  /** Words that select the same executors again. */
  get words(): string {
    const { on } = this.#options;
    return this.#wanted
      .map(({ named, ids }) =>
        ids === undefined
          ? `${named.name} --on ${on === undefined || Object.keys(on).length === 0 ? "all" : showLabels(on)}`
          : ids.map((id) => `${named.name}/${id}`).join(" "),
      )
      .join(" ");
  }

  get isOne(): boolean {
    return this.#wanted.length === 1 && this.#wanted[0]!.ids?.length === 1;
  }

  /** Enters the fleets, and does something with the executors that are there. */
  async use<T>(signal: AbortSignal, act: (chosen: Chosen) => Promise<T>): Promise<T> {
    const fleets: Fleet[] = [];
    try {
      const executors: ChosenExecutor[] = [];
      let missing = 0;
      for (const { named, ids } of this.#wanted) {
        const fleet = await openNamedFleet(named, this.#options, { signal });
        fleets.push(fleet);
        const matches = ids === undefined ? this.#labelledIn(fleet, named) : namedIn(fleet, named, ids);
        missing += matches.missing;
        for (const id of matches.ids) executors.push({ fleet, named, id, name: `${named.name}/${id}` });
      }
      return await act({ executors, isComplete: missing === 0 });
    } finally {
      await Promise.all(fleets.map((fleet) => fleet.close()));
    }
  }

  /** An executor that is being stopped ends by itself, and admits no clients who could ask for anything. */
  #labelledIn(fleet: Fleet, { name }: NamedFleet): Matches {
    const { on = {} } = this.#options;
    const all = fleet.list().filter((executor) => hasLabels(executor, on));
    const which = Object.keys(on).length === 0 ? "" : ` with ${showLabels(on)}`;
    if (all.length === 0)
      throw new Failure(
        `no executor${which} is connected to the fleet '${name}'; 'exec-server fleet ls' lists all`,
      );
    const ending = all.filter(({ state }) => state === "draining").map(({ id }) => id);
    if (ending.length > 0)
      complain(`left out: ${someOf(ending)} ${ending.length === 1 ? "is" : "are"} being stopped`);
    const ids = all.filter(({ state }) => state !== "draining").map(({ id }) => id);
    return { ids, missing: ending.length };
  }
}

interface Matches {
  readonly ids: readonly string[];
  /** Number of missing ones. */
  readonly missing: number;
}

function namedIn(fleet: Fleet, { name }: NamedFleet, wanted: readonly string[]): Matches {
  const known = fleet.list().map(({ id }) => id);
  const ids = wanted.filter((id) => known.includes(id));
  for (const id of wanted) if (!ids.includes(id)) complain(unknownExecutor(name, id, known).message);
  return { ids, missing: wanted.length - ids.length };
}

function labelled(words: readonly string[], { host }: ExecutorsOptions): Wanted {
  const [word = host, ...others] = words;
  const slash = word?.indexOf("/") ?? -1;
  if (word !== undefined && slash >= 0)
    throw usageFailure(
      `'${word}' is one executor; with --on, name the fleet alone: ${word.slice(0, slash) || "FLEET"}`,
    );
  if (others.length > 0) throw usageFailure("--on is for the executors of one fleet");
  return { named: findFleet(word), ids: undefined };
}

function namedOnes(words: readonly string[]): Wanted[] {
  if (words.length === 0)
    throw usageFailure("which executors? Name them (FLEET/NAME …), or choose them by labels with --on");
  const byFleet = new Map<string, { readonly named: NamedFleet; readonly ids: Set<string> }>();
  for (const word of words) {
    const { named, id } = parseExecutor(word);
    const wanted = byFleet.get(named.name) ?? { named, ids: new Set() };
    wanted.ids.add(id);
    byFleet.set(named.name, wanted);
  }
  return [...byFleet.values()].map(({ named, ids }) => ({ named, ids: [...ids] }));
}

/** `FLEET/NAME`, or a name in the only fleet. */
function parseExecutor(word: string): { readonly named: NamedFleet; readonly id: string } {
  const parts = word.split("/");
  const [first = "", second] = parts;
  if (parts.length > 2 || first === "" || second === "")
    throw usageFailure(`'${word}' is not an executor; write FLEET/NAME`);
  return { named: findFleet(second === undefined ? undefined : first), id: second ?? first };
}

import { shorten } from "../../base/shorten.ts";
import type { RowItem } from "../engine/row.ts";
import type { RowState } from "./result-row.ts";

const MAX_GROUPS = 50;
const MAX_SAMPLES = 3;
const MAX_CHARACTERS = 200;

/** Rows that ended in the same way. */
export interface OutcomeGroup {
  readonly status: string;
  /** The error that they have in common; undefined for all others of that status. */
  readonly error?: string;
  readonly count: number;
  /** Ids of a few. */
  readonly samples: readonly string[];
}

/** Groups rows by how they ended. */
export class OutcomeGroups {
  readonly #groups = new Map<string, OutcomeGroup & { count: number; samples: string[] }>();

  add({ id }: RowItem, { status, error }: RowState): void {
    const text = error === undefined ? undefined : shorten(error.split("\n")[0]!, MAX_CHARACTERS);
    const key = `${status} ${text ?? ""}`;
    const group = this.#groups.get(key) ?? this.#create(key, status, text);
    group.count += 1;
    if (group.samples.length < MAX_SAMPLES) group.samples.push(id);
  }

  /** Completed rows last, and the largest group first. */
  list(): OutcomeGroup[] {
    const rank = ({ status }: OutcomeGroup): number => (status === "completed" ? 1 : 0);
    return [...this.#groups.values()].sort(
      (one, other) => rank(one) - rank(other) || other.count - one.count,
    );
  }

  #create(key: string, status: string, error: string | undefined) {
    const isFull = this.#groups.size >= MAX_GROUPS;
    const rest = `${status} and others`;
    const existing = isFull ? this.#groups.get(rest) : undefined;
    if (existing !== undefined) return existing;
    const group = { status, ...(error === undefined || isFull ? {} : { error }), count: 0, samples: [] };
    this.#groups.set(isFull ? rest : key, group);
    return group as OutcomeGroup & { count: number; samples: string[] };
  }
}

import { randomId } from "../../base/random-id.ts";
import type { RowItem, RowRecord, RowStatus } from "./row.ts";
import type { RowLedger } from "./row-ledger.ts";
import { RowStates } from "./row-states.ts";

/** The ledger of a job that nobody resumes. */
export class MemoryLedger implements RowLedger {
  readonly jobId: string;
  readonly #states = new RowStates();

  constructor(jobId: string = randomId()) {
    this.jobId = jobId;
  }

  statusOf(index: number): RowStatus {
    return this.#states.status(index);
  }

  attemptsOf(index: number): number {
    return this.#states.attempts(index);
  }

  async begin({ index }: RowItem, attempt: number): Promise<void> {
    this.#states.set(index, "running", attempt);
  }

  async retry({ index }: RowItem, attempt: number): Promise<void> {
    this.#states.set(index, "pending", attempt);
  }

  async stop(): Promise<void> {}

  async settle({ index }: RowItem, { status, attempts }: RowRecord): Promise<void> {
    this.#states.set(index, status, attempts);
  }
}

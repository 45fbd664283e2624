import { randomId } from "../../base/random-id.ts";
import type { RowItem, RowRecord } from "./row.ts";
import type { RowLedger } from "./row-ledger.ts";
import { RowStates } from "./row-states.ts";

/** The ledger of a job that cannot be resumed. */
export class MemoryLedger extends RowStates implements RowLedger {
  readonly jobId = randomId();

  async begin({ index }: RowItem, attempt: number): Promise<void> {
    this.set(index, "running", attempt);
  }

  async retry({ index }: RowItem, attempt: number): Promise<void> {
    this.set(index, "pending", attempt);
  }

  async stop(): Promise<void> {}

  async settle({ index }: RowItem, { status, attempts }: RowRecord): Promise<void> {
    this.set(index, status, attempts);
  }
}

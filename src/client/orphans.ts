import { ConnectionError } from "../base/errors.ts";
import type { Link } from "../rpc/link.ts";

/** Starts whose answers were lost: whatever came of them has no owner, and is ended as soon as there is a connection. */
export class Orphans {
  readonly #processIds = new Set<string>();

  add(processId: string): void {
    this.#processIds.add(processId);
  }

  terminate(link: Link): void {
    for (const processId of this.#processIds) {
      const forget = (): boolean => this.#processIds.delete(processId);
      link.request("process/terminate", { processId }).then(forget, (error: unknown) => {
        // Unknown is as good as ended. After a lost connection it is said again on the next one.
        if (!(error instanceof ConnectionError)) forget();
      });
    }
  }
}

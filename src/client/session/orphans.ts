import { ConnectionError } from "../../base/errors.ts";
import type { Link } from "../../rpc/link.ts";

/** Starts whose answers were lost: their processes have no owner, and are ended as soon as there is a connection. */
export class Orphans {
  /** By the link on which their end was requested; each is requested once per link. */
  readonly #askedOn = new Map<string, Link | undefined>();

  /** They count as unanswered requests, which bounds their number. */
  get size(): number {
    return this.#askedOn.size;
  }

  add(processId: string): void {
    this.#askedOn.set(processId, undefined);
  }

  terminate(link: Link): void {
    for (const [processId, asked] of this.#askedOn) {
      if (asked === link) continue;
      this.#askedOn.set(processId, link);
      const forget = (): boolean => this.#askedOn.delete(processId);
      link.request("process/terminate", { processId }).then(forget, (error: unknown) => {
        // An unknown process counts as ended. After a lost connection the request is repeated on the next one.
        if (!(error instanceof ConnectionError)) forget();
      });
    }
  }
}

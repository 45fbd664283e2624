import { ConnectionError } from "../../base/errors.ts";
import type { Link } from "../../rpc/link.ts";

/** Starts whose answers were lost: whatever came of them has no owner, and is ended as soon as there is a connection. */
export class Orphans {
  /** By the link on which their end was asked for; each is asked for once on a link. */
  readonly #askedOn = new Map<string, Link | undefined>();

  /** They count as requests that are unanswered, so that there is an end to them. */
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
        // Unknown is as good as ended. After a lost connection it is said again on the next one.
        if (!(error instanceof ConnectionError)) forget();
      });
    }
  }
}

import { UsageError } from "../../base/errors.ts";
import { isFingerprint } from "../../base/fingerprint.ts";

/** An executor that has registered with a relay, which passes on what only the two ends can read. */
export interface RelayTarget {
  /** Address of the relay, such as `https://relay.example`. */
  readonly relay: string;
  /** Name under which the executor has registered. */
  readonly environmentId: string;
  /**
   * Fingerprint of the executor's key, or a function that throws for one that is not right. Without it, or if it is
   * `any`, you trust the relay to name the right executor.
   */
  readonly executorKey?: string | ((fingerprint: string) => void | Promise<void>);
  /** File with this client's own key, which is created if there is none. Default: a new key for each `connect`. */
  readonly identity?: string;
}

const SCHEME = /^relay\+(?=https?:)/;

/**
 * The executor behind a relay that `relay+https://HOST[:PORT][/PATH]/ID` stands for; its key may follow as
 * `#SHA256:…` or `#any`. Undefined for any other URL.
 */
export function relayTargetOf(text: string): RelayTarget | undefined {
  if (!SCHEME.test(text)) return undefined;
  const address = text.replace(SCHEME, "");
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const pathname = url?.pathname ?? "";
  const nameAt = pathname.lastIndexOf("/") + 1;
  const name = pathname.slice(nameAt);
  if (url === undefined || name === "" || url.search !== "" || url.username !== "")
    throw new UsageError(`invalid URL \`${text}\`; expected \`relay+https://HOST[:PORT]/ENVIRONMENT\``);
  const executorKey = decodeURIComponent(url.hash.slice(1));
  if (executorKey !== "") checkExecutorKey(executorKey);
  return {
    relay: `${url.origin}${pathname.slice(0, nameAt - 1)}`,
    environmentId: decodeURIComponent(name),
    ...(executorKey === "" ? {} : { executorKey }),
  };
}

/** Throws a UsageError for a key that no executor could have. */
export function checkExecutorKey(executorKey: string): void {
  if (executorKey !== "any" && !isFingerprint(executorKey))
    throw new UsageError(
      `invalid executor key '${executorKey}'; expected a fingerprint such as SHA256:dGhl…, with 43 characters after the colon, or any`,
    );
}

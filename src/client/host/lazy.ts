import type { Host } from "./host.ts";

/** A host that connects on first use. */
export interface LazyHost extends AsyncDisposable {
  /**
   * The host. Callers share one attempt; after a failed attempt, or when the host's session is over, the next call
   * retries.
   */
  get(): Promise<Host>;
  close(): Promise<void>;
}

/** Calls `open` for each attempt: `connectLazily(() => connect(url))`. */
export function connectLazily(open: () => Promise<Host>): LazyHost {
  let attempt: Promise<Host> | undefined;
  const get = (): Promise<Host> => {
    if (attempt !== undefined) return attempt;
    const current = open();
    attempt = current;
    const forget = (): void => {
      if (attempt === current) attempt = undefined;
    };
    current.then((host) => host.closed).then(forget, forget);
    return current;
  };
  const close = async (): Promise<void> => {
    const current = attempt;
    attempt = undefined;
    const host = await current?.catch(() => undefined);
    await host?.close();
  };
  return { get, close, [Symbol.asyncDispose]: close };
}

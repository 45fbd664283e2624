import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Polled<T> {
  readonly value: T | undefined;
  /** Why the latest attempt failed. */
  readonly error: unknown;
}

/** Asks again and again while the page is visible, never twice at once; once for each change of `deps` without a time. */
export function usePolled<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  { everyMs, deps = [] }: { readonly everyMs?: number; readonly deps?: readonly unknown[] },
): Signal<Polled<T>> {
  const polled = useSignal<Polled<T>>({ value: undefined, error: undefined });
  useEffect(() => {
    const stop = new AbortController();
    let isAsking = false;
    const poll = async (): Promise<void> => {
      if (isAsking || document.hidden) return;
      isAsking = true;
      try {
        const value = await ask(stop.signal);
        if (!stop.signal.aborted) polled.value = { value, error: undefined };
      } catch (error) {
        if (!stop.signal.aborted) polled.value = { ...polled.value, error };
      }
      isAsking = false;
    };
    void poll();
    if (everyMs === undefined) return () => stop.abort();
    const timer = setInterval(() => void poll(), everyMs);
    const shown = (): void => void poll();
    document.addEventListener("visibilitychange", shown);
    return () => {
      stop.abort();
      clearInterval(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, deps);
  return polled;
}

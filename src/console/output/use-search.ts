import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { Stream } from "./line-store.ts";
import type { OutputFeed } from "./output-feed.ts";
import { type Match, OutputSearch } from "./search.ts";

const SLICE_MS = 6;

export type SearchHandle = ReturnType<typeof useOutputSearch>;

/** Searches the output of a feed while it arrives. */
export function useOutputSearch(
  feed: OutputFeed,
  stream: Signal<Stream | undefined>,
  show: (index: number) => void,
) {
  const isOpen = useSignal(false);
  const query = useSignal("");
  /** Number of matches. */
  const count = useSignal(0);
  /** Index of the current match, from 0; -1 without one. */
  const at = useSignal(-1);
  const field = useRef<HTMLInputElement>(null);
  const search = useRef<OutputSearch | undefined>(undefined);
  const wanted = useRef("");
  /** Until the first match is shown, or there is none in what had arrived by then. */
  const awaitsFirst = useRef(false);
  useSignalEffect(() => {
    void feed.news.value;
    const key = `${stream.value ?? ""} ${query.value}`;
    if (!isOpen.value || query.value === "") search.current = undefined;
    else if (wanted.current !== key || search.current === undefined)
      search.current = new OutputSearch(feed.store, query.value, stream.value);
    const isNew = wanted.current !== key;
    wanted.current = key;
    const running = search.current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const step = (): void => {
      const isDone = running?.run(performance.now() + SLICE_MS) ?? true;
      count.value = running?.matches.length ?? 0;
      if (awaitsFirst.current && count.value > 0) {
        awaitsFirst.current = false;
        at.value = 0;
        show(running!.matches[0]!.index);
      }
      if (isDone) awaitsFirst.current = false;
      else timer = setTimeout(step);
    };
    if (isNew) {
      at.value = -1;
      awaitsFirst.current = true;
    }
    step();
    return () => clearTimeout(timer);
  });
  return useMemo(() => {
    const current = (): Match | undefined => search.current?.matches[at.value];
    return {
      isOpen,
      query,
      count,
      at,
      field,
      isFull: (): boolean => search.current?.isFull ?? false,
      current,
      inLine: (index: number): readonly Match[] => search.current?.inLine(index) ?? [],
      open: (): void => {
        isOpen.value = true;
        // Immediately, so that it gets the next keys.
        field.current?.select();
      },
      close: (): void => {
        isOpen.value = false;
        query.value = "";
      },
      /** Goes to the next or the previous match. */
      go: (by: number): void => {
        if (count.value === 0) return;
        at.value = (at.value + by + count.value) % count.value;
        const match = current();
        if (match !== undefined) show(match.index);
      },
    };
  }, []);
}

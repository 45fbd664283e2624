import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { Stream } from "./line-store.ts";
import type { OutputFeed } from "./output-feed.ts";
import { type Match, OutputSearch } from "./search.ts";

const SLICE_MS = 6;

export interface SearchHandle {
  readonly isOpen: Signal<boolean>;
  readonly query: Signal<string>;
  /** How many matches there are. */
  readonly count: Signal<number>;
  /** The number of the current one, from 0; -1 if there is none. */
  readonly at: Signal<number>;
  readonly field: { current: HTMLInputElement | null };
  isFull(): boolean;
  current(): Match | undefined;
  inLine(index: number): readonly Match[];
  open(): void;
  close(): void;
  /** Goes to the next match, or the one before. */
  go(by: number): void;
}

/** Searches the output of a feed while it arrives. */
export function useOutputSearch(
  feed: OutputFeed,
  stream: Signal<Stream | undefined>,
  show: (index: number) => void,
): SearchHandle {
  const isOpen = useSignal(false);
  const query = useSignal("");
  const count = useSignal(0);
  const at = useSignal(-1);
  const field = useRef<HTMLInputElement>(null);
  const search = useRef<OutputSearch | undefined>(undefined);
  const wanted = useRef("");
  useSignalEffect(() => {
    void feed.news.value;
    const key = `${stream.value ?? ""} ${query.value}`;
    if (!isOpen.value || query.value === "") search.current = undefined;
    else if (wanted.current !== key || search.current === undefined)
      search.current = new OutputSearch(feed.store, query.value, stream.value);
    const isNew = wanted.current !== key;
    wanted.current = key;
    const found = search.current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const step = (): void => {
      const isDone = found?.run(performance.now() + SLICE_MS) ?? true;
      count.value = found?.matches.length ?? 0;
      if (isNew && at.peek() < 0 && count.value > 0) {
        at.value = 0;
        show(found!.matches[0]!.index);
      }
      if (!isDone) timer = setTimeout(step);
    };
    if (isNew) at.value = -1;
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
      isFull: () => search.current?.isFull ?? false,
      current,
      inLine: (index) => search.current?.inLine(index) ?? [],
      open: () => {
        isOpen.value = true;
        // At once, so that it gets what is typed next.
        field.current?.select();
      },
      close: () => {
        isOpen.value = false;
        query.value = "";
      },
      go: (by) => {
        if (count.value === 0) return;
        at.value = (at.value + by + count.value) % count.value;
        const match = current();
        if (match !== undefined) show(match.index);
      },
    } satisfies SearchHandle;
  }, []);
}

import { formatSize } from "../../base/amounts.ts";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { EndFollower } from "../ui/end-follower.ts";
import { LineLayout, type PlacedLine } from "./line-layout.ts";
import type { Stream } from "./line-store.ts";
import type { OutputFeed } from "./output-feed.ts";
import { StyledText } from "./styled-text.tsx";
import type { SearchHandle } from "./use-search.ts";
import type { EventTimes } from "./use-times.ts";

const ROW_PX = 20;
/** Rows that are drawn above and below what is visible. */
const SPARE_ROWS = 20;
/** Distance from the end that counts as the end. */
const END_PX = 8;

export interface LinesHandle {
  /** Scrolls to a line, and stops following. */
  show(index: number): void;
  /** Scrolls to the end, and stays there. */
  follow(): void;
  /** Gives it the keyboard, so that its keys scroll. */
  focus(): void;
}

export interface OutputLinesProps {
  readonly feed: OutputFeed;
  readonly stream: Stream | undefined;
  readonly wraps: boolean;
  readonly times: EventTimes;
  readonly search: SearchHandle;
  readonly isFollowing: Signal<boolean>;
  /** Whether it shows the output from the oldest on that is on disk. */
  readonly fromStart: Signal<boolean>;
  readonly handle: { current: LinesHandle | undefined };
}

/** The lines that are visible. Each row has the same height, so places are counted, not measured. */
export function OutputLines({
  feed,
  stream,
  wraps,
  times,
  search,
  isFollowing,
  fromStart,
  handle,
}: OutputLinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const view = useSignal({ top: 0, height: 600, columns: 80 });
  const layout = useMemo(() => new LineLayout(feed.store), []);
  const follower = useMemo(() => new EndFollower(isFollowing, END_PX), []);
  void feed.news.value;
  void search.count.value;
  const digits = Math.max(4, String(feed.store.lastNumber).length);
  const gone = layout.update({ columns: wraps ? view.value.columns : undefined, stream });
  const measure = (): void => {
    const element = box.current;
    // An observer may report once more after the element is gone.
    if (element === null || ruler.current === null) return;
    const character = ruler.current.getBoundingClientRect().width / 100;
    const gutter = ruler.current.parentElement!.offsetLeft;
    const columns = Math.max(20, Math.floor((element.clientWidth - gutter - 12) / character));
    view.value = { top: element.scrollTop, height: element.clientHeight, columns };
  };
  useEffect(() => {
    const element = box.current!;
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    const over = new AbortController();
    const { signal } = over;
    const stay = (): void => {
      view.value = { ...view.value, top: element.scrollTop };
    };
    follower.watch(element, signal, stay);
    const onScroll = (): void => {
      follower.scrolled(element);
      // The end is shown wherever the box has scrolled to. Updating it here would draw each frame of a flood twice.
      if (!isFollowing.value) stay();
    };
    element.addEventListener("scroll", onScroll, { passive: true, signal });
    return () => {
      sizes.disconnect();
      over.abort();
    };
  }, []);
  useLayoutEffect(measure, [digits, times.isShown]);
  useLayoutEffect(() => {
    const element = box.current!;
    if (isFollowing.value) follower.scrollToEnd(element);
    else if (gone > 0) follower.scroll(element, Math.max(0, element.scrollTop - gone * ROW_PX));
  });
  handle.current = {
    show: (index) => {
      isFollowing.value = false;
      const row = layout.rowOf(index);
      const top = follower.scroll(box.current!, Math.max(0, row * ROW_PX - view.peek().height / 3));
      // Scrolling to the current position does not fire an event.
      view.value = { ...view.peek(), top };
    },
    follow: () => {
      isFollowing.value = true;
      follower.scrollToEnd(box.current!);
    },
    focus: () => box.current?.focus(),
  };
  const total = layout.totalRows * ROW_PX;
  const top = isFollowing.value
    ? Math.max(0, total - view.value.height)
    : Math.max(0, view.value.top - gone * ROW_PX);
  const firstRow = Math.floor(top / ROW_PX) - SPARE_ROWS;
  const placed = layout.linesBetween(
    firstRow,
    firstRow + Math.ceil(view.value.height / ROW_PX) + 2 * SPARE_ROWS,
  );
  return (
    <div class="out-frame fill-column">
      <div
        class={`out-box${wraps ? " wraps" : ""}${times.isShown ? " timed" : ""}`}
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Output"
        style={{ "--digits": digits }}
      >
        <div class="out-line out-ruler" aria-hidden="true">
          <span class="out-gutter" />
          <span class="out-text">
            <span ref={ruler}>{"0".repeat(100)}</span>
          </span>
        </div>
        <div class="out-all" style={{ height: `${total}px` }}>
          <div class="out-shown" style={{ transform: `translateY(${(placed[0]?.row ?? 0) * ROW_PX}px)` }}>
            {placed.map((line) => (
              <ShownLine key={line.index} placed={line} times={times} search={search} wraps={wraps} />
            ))}
          </div>
        </div>
        {feed.store.end === 0 && feed.process.value !== undefined ? (
          <p class="out-none">{feed.isClosed.value ? "No output." : "No output yet."}</p>
        ) : null}
      </div>
      {isFollowing.value || total <= view.value.height ? null : (
        <div class="out-follow">
          <Button icon="arrow-down" title="To the end (G)" onClick={() => handle.current?.follow()}>
            {feed.isClosed.value ? "To the end" : "Follow"}
          </Button>
        </div>
      )}
      <MissingOutput feed={feed} />
      <OutputOnDisk feed={feed} fromStart={fromStart} />
    </div>
  );
}

/** Says which output is missing, and why. */
function MissingOutput({ feed }: { readonly feed: OutputFeed }) {
  const { store, raw, evictedBytes } = feed;
  const sentences = [
    store.first > 0 &&
      `This page keeps the last ${(store.end - store.first).toLocaleString("en")} lines; ${store.first.toLocaleString("en")} before them were dropped.`,
    evictedBytes.value > 0 &&
      `${formatSize(evictedBytes.value)} of ${formatSize(raw.received + evictedBytes.value)} of output arrived faster than this page could read them.`,
  ].filter((sentence) => sentence !== false);
  return sentences.length === 0 ? null : <p class="out-dropped number">{sentences.join(" ")}</p>;
}

/** Leads to output that the server has on disk, and back. */
function OutputOnDisk({ feed, fromStart }: Pick<OutputLinesProps, "feed" | "fromStart">) {
  if (!feed.hasEarlier.value && !fromStart.value) return null;
  return (
    <div class="out-disk">
      {fromStart.value ? (
        <>
          {feed.isHeld.value ? <Button onClick={() => feed.readOn()}>Show more</Button> : null}
          <Button onClick={() => (fromStart.value = false)}>Show the latest output</Button>
        </>
      ) : (
        <>
          <span>The server has earlier output on disk.</span>
          <Button onClick={() => (fromStart.value = true)}>Show from the beginning</Button>
        </>
      )}
    </div>
  );
}

function ShownLine({
  placed: { index, line, rows },
  times,
  search,
  wraps,
}: {
  readonly placed: PlacedLine;
  readonly times: EventTimes;
  readonly search: SearchHandle;
  readonly wraps: boolean;
}) {
  const height = wraps ? { height: `${rows * ROW_PX}px` } : undefined;
  if (line.kind === "gap")
    return (
      <div class="out-line out-gap">
        <span class="out-gutter" />
        <span class="out-text">{line.text}</span>
      </div>
    );
  const timeMs = times.isShown && !line.continues ? times.timeOf(line.seq) : undefined;
  return (
    <div class={`out-line ${line.stream}`} style={height}>
      <span class="out-gutter number" aria-hidden="true">
        {times.isShown ? <span class="out-time">{timeMs === undefined ? "" : timeText(timeMs)}</span> : null}
        {line.continues ? "" : line.number}
      </span>
      <span class="out-text">
        <StyledText
          text={line.text}
          spans={line.spans}
          matches={search.inLine(index)}
          current={search.current()}
        />
        {"\n"}
      </span>
    </div>
  );
}

function timeText(timeMs: number): string {
  const date = new Date(timeMs);
  const clock = date.toTimeString().slice(0, "hh:mm:ss".length);
  return `${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

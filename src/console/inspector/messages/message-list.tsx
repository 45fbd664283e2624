import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Button } from "../../ui/button.tsx";
import { EndFollower } from "../../ui/end-follower.ts";
import { formatSize } from "../../../base/amounts.ts";
import { formatMs } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { rowWindow, scrollTo } from "../../ui/row-window.ts";
import { visibleText } from "../../../base/visible-text.ts";
import { indexOfMessage } from "./filter-messages.ts";
import type { LoggedMessage } from "./message-log.ts";

const ROW_PX = 28;
/** Distance from the end that counts as the end. */
const END_PX = 12;

const COLUMNS = [
  { part: "time", title: "Time" },
  { part: "direction", title: "" },
  { part: "what", title: "Method" },
  { part: "kind", title: "Kind" },
  { part: "id", title: "Id" },
  { part: "ms", title: "Took" },
  { part: "size", title: "Size" },
] as const;

export interface MessageListProps {
  readonly messages: readonly LoggedMessage[];
  readonly selected: LoggedMessage | undefined;
  readonly onSelect: (message: LoggedMessage) => void;
}

/** The newest at the end. Only visible rows exist. The list follows its end until the person scrolls up. */
export function MessageList({ messages, selected, onSelect }: MessageListProps) {
  const list = useRef<HTMLDivElement>(null);
  /** No rows until the browser has laid out the list: asking for its height earlier would do that twice. */
  const view = useSignal({ top: 0, height: 0 });
  const isFollowing = useSignal(true);
  /** The message at the top, which stays there when older ones are dropped. */
  const anchor = useRef(0);
  const follower = useMemo(() => new EndFollower(isFollowing, END_PX), []);
  const current = selected === undefined ? -1 : indexOfMessage(messages, selected.number);
  useLayoutEffect(() => {
    const element = list.current!;
    const measure = (): void => {
      const head = element.firstElementChild!.clientHeight;
      view.value = { top: element.scrollTop, height: element.clientHeight - head };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const over = new AbortController();
    follower.watch(element, over.signal);
    return () => {
      observer.disconnect();
      over.abort();
    };
  }, []);
  const isMeasured = view.value.height > 0;
  useLayoutEffect(() => {
    const element = list.current!;
    if (!isMeasured) return;
    const index = indexOfMessage(messages, anchor.current);
    if (isFollowing.value) follower.scrollToEnd(element);
    else if (index !== Math.floor(element.scrollTop / ROW_PX))
      follower.scroll(element, index * ROW_PX + (element.scrollTop % ROW_PX));
  }, [messages, messages.length, messages[0], view.value.height]);
  const onScroll = (): void => {
    const element = list.current!;
    follower.scrolled(element);
    anchor.current = messages[Math.floor(element.scrollTop / ROW_PX)]?.number ?? 0;
    view.value = { ...view.value, top: element.scrollTop };
  };
  const select = (index: number): void => {
    const message = messages[Math.max(0, Math.min(messages.length - 1, index))];
    if (message === undefined) return;
    isFollowing.value = false;
    onSelect(message);
    follower.scroll(list.current!, scrollTo(indexOfMessage(messages, message.number), view.value, ROW_PX));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(view.value.height / ROW_PX) - 1);
    const steps: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current < 0 ? messages.length - 1 : current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: messages.length - 1,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    select(step);
    event.preventDefault();
  };
  const top = isFollowing.value ? messages.length * ROW_PX - view.value.height : view.value.top;
  const { start, end } = rowWindow({ top, height: view.value.height }, ROW_PX, messages.length);
  return (
    <div class="insp-list-frame">
      <div
        class="insp-rows"
        ref={list}
        role="listbox"
        aria-label="Messages"
        aria-activedescendant={selected === undefined ? undefined : `insp-message-${selected.number}`}
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        {/* A list has no columns; screen readers get the meaning with each row. */}
        <div class="row-grid-head insp-heads" aria-hidden="true">
          {COLUMNS.map(({ title, part }) => (
            <span key={part} class={`insp-${part}`}>
              {title}
            </span>
          ))}
        </div>
        <div
          style={{ height: `${messages.length * ROW_PX}px`, paddingTop: `${start * ROW_PX}px` }}
          role="presentation"
        >
          {(isMeasured ? messages.slice(start, end) : []).map((message) => (
            <Row
              key={message.number}
              message={message}
              isSelected={message === selected}
              onSelect={() => {
                isFollowing.value = false;
                onSelect(message);
              }}
            />
          ))}
        </div>
      </div>
      {isFollowing.value || messages.length * ROW_PX <= view.value.height ? null : (
        <div class="insp-follow">
          <Button
            icon="arrow-down"
            onClick={() => {
              isFollowing.value = true;
              follower.scrollToEnd(list.current!);
            }}
          >
            Follow
          </Button>
        </div>
      )}
    </div>
  );
}

interface RowProps {
  readonly message: LoggedMessage;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function Row({ message, isSelected, onSelect }: RowProps) {
  const { number, direction, kind, method, id, size, tookMs, atMs } = message;
  return (
    // Keys are handled by the list.
    <div
      id={`insp-message-${number}`}
      class={`row-grid-row insp-row ${kind}${isSelected ? " current" : ""}`}
      role="option"
      aria-selected={isSelected}
      onClick={onSelect}
    >
      <span class="insp-time hint number">{clockTime(atMs)}</span>
      <span class={`insp-direction ${direction}`} title={direction}>
        <Icon name={direction === "sent" ? "arrow-up" : "arrow-down"} />
        <span class="hidden-text">{direction}</span>
      </span>
      <span class="insp-what code">{visibleText((method ?? "without a method").slice(0, 200))}</span>
      <span class="insp-kind hint">{kind}</span>
      <span class="insp-id hint code number">{visibleText((id ?? "").slice(0, 24))}</span>
      <span class="insp-ms hint number">{tookMs === undefined ? "" : formatMs(tookMs)}</span>
      <span class="insp-size hint number">{formatSize(size)}</span>
    </div>
  );
}

function clockTime(atMs: number): string {
  // By hand: the browser's own formatting takes longer than the rest of a row.
  const date = new Date(atMs);
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
  return `${time}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

import { type Signal, useSignal } from "@preact/signals";
import type { ProcessRow } from "../processes/process-history.ts";
import { IconButton } from "../ui/button.tsx";
import { copyAndSay } from "../ui/copy-text.ts";
import { downloadBlob } from "../ui/download-blob.ts";
import type { Line, Stream } from "./line-store.ts";
import type { OutputFeed } from "./output-feed.ts";
import type { SearchHandle } from "./use-search.ts";

/** More than a clipboard is good for. */
const MAX_COPIED = 10_000_000;

export interface OutputToolsProps {
  readonly row: ProcessRow;
  readonly feed: OutputFeed;
  readonly stream: Signal<Stream | undefined>;
  readonly wraps: Signal<boolean>;
  readonly hasTimes: Signal<boolean>;
  readonly search: SearchHandle;
  readonly onJump: (number: number) => void;
  /** The person is done with a field. */
  readonly onLeave: () => void;
}

const STREAMS: readonly { readonly stream: Stream | undefined; readonly title: string }[] = [
  { stream: undefined, title: "All" },
  { stream: "stdout", title: "stdout" },
  { stream: "stderr", title: "stderr" },
];

/** Which lines are shown, and how. */
export function OutputTools(props: OutputToolsProps) {
  const { row, feed, stream, wraps, hasTimes, search, onJump, onLeave } = props;
  const { tty, name } = row.listed;
  return (
    <div class="out-tools" role="toolbar" aria-label="Output">
      {tty ? null : (
        <div class="out-streams" role="group" aria-label="Which output is shown">
          {STREAMS.map((choice) => (
            <button
              key={choice.title}
              type="button"
              class={choice.stream}
              aria-pressed={stream.value === choice.stream}
              onClick={() => {
                stream.value = choice.stream;
              }}
            >
              {choice.title}
            </button>
          ))}
        </div>
      )}
      <SearchField search={search} onLeave={onLeave} />
      <JumpField onJump={onJump} />
      <span class="out-space" />
      <IconButton
        icon="wrap"
        label="Wrap long lines"
        keys="w"
        pressed={wraps.value}
        onClick={() => {
          wraps.value = !wraps.value;
        }}
      />
      <IconButton
        icon="clock"
        label="Show when lines were written"
        keys="t"
        pressed={hasTimes.value}
        onClick={() => {
          hasTimes.value = !hasTimes.value;
        }}
      />
      <IconButton icon="copy" label="Copy what is shown" onClick={() => void copy(feed, stream.value)} />
      <IconButton
        icon="download"
        label="Download the output"
        onClick={() => download(feed, stream.value, name ?? "output")}
      />
    </div>
  );
}

function SearchField({ search, onLeave }: Pick<OutputToolsProps, "search" | "onLeave">) {
  const { query, count, at, field } = search;
  return (
    <div class="out-search">
      <input
        ref={field}
        type="search"
        aria-label="Search the output"
        placeholder="Search  /"
        spellcheck={false}
        value={query.value}
        onFocus={() => {
          search.isOpen.value = true;
        }}
        onInput={(event) => {
          query.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") search.go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") {
            search.close();
            onLeave();
          } else return;
          event.preventDefault();
        }}
      />
      {query.value === "" ? null : (
        <>
          <span class="out-found number" role="status">
            {count.value === 0
              ? "none"
              : `${(at.value + 1).toLocaleString()} of ${count.value.toLocaleString()}${search.isFull() ? "+" : ""}`}
          </span>
          <IconButton
            icon="arrow-up"
            label="Previous match"
            keys="Shift+Enter"
            onClick={() => search.go(-1)}
          />
          <IconButton icon="arrow-down" label="Next match" keys="Enter" onClick={() => search.go(1)} />
        </>
      )}
    </div>
  );
}

function JumpField({ onJump }: { readonly onJump: (number: number) => void }) {
  const text = useSignal("");
  return (
    <form
      class="out-jump"
      onSubmit={(event) => {
        event.preventDefault();
        const number = Number(text.value);
        if (Number.isInteger(number) && number > 0) onJump(number);
      }}
    >
      <input
        type="text"
        inputMode="numeric"
        aria-label="Go to a line"
        placeholder="Line"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value.replace(/\D/g, "");
        }}
      />
    </form>
  );
}

function copy(feed: OutputFeed, stream: Stream | undefined): Promise<void> {
  const selected = String(getSelection());
  if (selected !== "") return copyAndSay(selected, "The selection is in the clipboard.");
  return copyAndSay(textOf(feed, stream), "The output is in the clipboard.");
}

function textOf({ store }: OutputFeed, stream: Stream | undefined): string {
  const isShown = (line: Line): boolean =>
    line.kind === "text" && (stream === undefined || line.stream === stream);
  let text = "";
  for (const { lines } of store.blocks) {
    for (const line of lines.filter(isShown))
      text += `${line.continues || text === "" ? "" : "\n"}${line.text}`;
    if (text.length > MAX_COPIED) break;
  }
  return text;
}

/** The bytes as they came, not what is shown. */
function download(feed: OutputFeed, stream: Stream | undefined, name: string): void {
  const blob = new Blob([...feed.raw.chunks(stream)] as BlobPart[], { type: "application/octet-stream" });
  downloadBlob(blob, `${name}${stream === undefined ? "" : `.${stream}`}.log`);
}

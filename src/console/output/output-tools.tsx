import { type Signal, useSignal } from "@preact/signals";
import type { ProcessRow } from "../processes/process-history.ts";
import { IconButton } from "../ui/button.tsx";
import { copyAndSay } from "../ui/copy-text.ts";
import { downloadBlob } from "../ui/download-blob.ts";
import { writeTo } from "../ui/field.tsx";
import type { Line, Stream } from "./line-store.ts";
import type { OutputFeed } from "./output-feed.ts";
import type { SearchHandle } from "./use-search.ts";

/** More than a clipboard can reasonably hold. */
const MAX_COPIED = 10_000_000;

export interface OutputToolsProps {
  readonly row: ProcessRow;
  readonly feed: OutputFeed;
  readonly stream: Signal<Stream | undefined>;
  readonly wraps: boolean;
  readonly switchWraps: () => void;
  readonly hasTimes: boolean;
  readonly switchTimes: () => void;
  readonly search: SearchHandle;
  readonly onJump: (number: number) => void;
  /** The person is done with a field. */
  readonly onLeave: () => void;
}

/** Undefined is all of them. */
const STREAMS = [undefined, "stdout", "stderr"] as const;

/** Selection and display of lines. */
export function OutputTools({ row, feed, stream, search, ...props }: OutputToolsProps) {
  const { tty, name } = row.listed;
  return (
    <div class="out-tools" role="toolbar" aria-label="Output">
      {tty ? null : (
        <div class="out-streams" role="group" aria-label="Which output is shown">
          {STREAMS.map((choice) => (
            <button
              key={choice}
              type="button"
              class={choice}
              aria-pressed={stream.value === choice}
              onClick={() => {
                stream.value = choice;
              }}
            >
              {choice ?? "All"}
            </button>
          ))}
        </div>
      )}
      <SearchField search={search} onLeave={props.onLeave} />
      <JumpField onJump={props.onJump} />
      <span class="out-space" />
      <IconButton
        icon="wrap"
        label="Wrap long lines"
        keys="w"
        pressed={props.wraps}
        onClick={props.switchWraps}
      />
      <IconButton
        icon="clock"
        label="Show when lines were written"
        keys="t"
        pressed={props.hasTimes}
        onClick={props.switchTimes}
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
        onInput={writeTo(query)}
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

function JumpField({ onJump }: Pick<OutputToolsProps, "onJump">) {
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
  if (selected !== "") return copyAndSay(selected, "The selection was copied.");
  return copyAndSay(textOf(feed, stream), "The output was copied.");
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

/** The raw bytes, not what is shown. */
function download(feed: OutputFeed, stream: Stream | undefined, name: string): void {
  const blob = new Blob([...feed.raw.chunks(stream)] as BlobPart[], { type: "application/octet-stream" });
  downloadBlob(blob, `${name}${stream === undefined ? "" : `.${stream}`}.log`);
}

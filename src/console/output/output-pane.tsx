import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import type { ProcessAddress } from "../processes/process-address.ts";
import type { ProcessRow } from "../processes/process-history.ts";
import { useCommands } from "../frame/commands.ts";
import { ErrorBox } from "../ui/error-box.tsx";
import type { Stream } from "./line-store.ts";
import { OutputFeed } from "./output-feed.ts";
import { OutputHead } from "./output-head.tsx";
import { type LinesHandle, OutputLines } from "./output-lines.tsx";
import { OutputInput } from "./output-input.tsx";
import { OutputTools } from "./output-tools.tsx";
import { useOutputSearch } from "./use-search.ts";
import { useTimes } from "./use-times.ts";

export interface OutputPaneProps {
  readonly row: ProcessRow;
  readonly address: ProcessAddress;
}

export function OutputPane({ row, address }: OutputPaneProps) {
  const host = useHost();
  const feed = useMemo(() => new OutputFeed(host, address), []);
  const stream = useSignal<Stream | undefined>(undefined);
  const wraps = useSignal(true);
  const hasTimes = useSignal(false);
  const isFollowing = useSignal(true);
  const lines = useRef<LinesHandle | undefined>(undefined);
  const search = useOutputSearch(feed, stream, (index) => lines.current?.show(index));
  const times = useTimes(host, feed, hasTimes);
  useEffect(() => {
    void feed.run();
    return () => feed.stop();
  }, []);
  const { state, outputBytes } = row.listed;
  useEffect(() => {
    if (feed.isClosed.value && state === "closed") feed.setTotal(outputBytes);
  }, [feed.isClosed.value, state, outputBytes]);
  useCommands(
    () => [
      { id: "out-find", title: "Search the output", group: "Output", keys: "/", run: () => search.open() },
      {
        id: "out-find-too",
        title: "Search the output",
        group: "Output",
        keys: "Ctrl+F",
        run: () => search.open(),
      },
      ...(search.isOpen.value
        ? [
            { id: "out-next", title: "Next match", group: "Output", keys: "n", run: () => search.go(1) },
            {
              id: "out-previous",
              title: "Previous match",
              group: "Output",
              keys: "N",
              run: () => search.go(-1),
            },
          ]
        : []),
      {
        id: "out-top",
        title: "To the beginning",
        group: "Output",
        keys: "g g",
        run: () => lines.current?.show(feed.store.first),
      },
      {
        id: "out-end",
        title: "To the end, and follow it",
        group: "Output",
        keys: "G",
        run: () => lines.current?.follow(),
      },
      {
        id: "out-wrap",
        title: "Wrap long lines, or not",
        group: "Output",
        keys: "w",
        run: () => {
          wraps.value = !wraps.value;
        },
      },
      {
        id: "out-times",
        title: "Show when lines were written, or not",
        group: "Output",
        keys: "t",
        run: () => {
          hasTimes.value = !hasTimes.value;
        },
      },
    ],
    [search.isOpen.value],
  );
  return (
    <section class="view">
      <OutputHead row={row} address={address} feed={feed} />
      <OutputTools
        {...{ row, feed, stream, wraps, hasTimes, search }}
        onLeave={() => lines.current?.focus()}
        onJump={(number) => lines.current?.show(feed.store.indexOfNumber(number))}
      />
      {feed.failure.value === undefined ? null : (
        <div class="view-failed">
          <ErrorBox {...describeError(feed.failure.value)} />
        </div>
      )}
      <OutputLines
        handle={lines}
        feed={feed}
        stream={stream.value}
        wraps={wraps.value}
        times={times}
        search={search}
        isFollowing={isFollowing}
      />
      <OutputInput listed={row.listed} feed={feed} />
    </section>
  );
}

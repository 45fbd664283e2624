import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { matchesAddress, type ProcessAddress } from "../processes/process-address.ts";
import type { ProcessRow } from "../processes/process-history.ts";
import { processList, useProcessList } from "../processes/process-list.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { visibleText } from "../../base/visible-text.ts";
import type { Stream } from "./line-store.ts";
import { OutputFeed } from "./output-feed.ts";
import { OutputHead } from "./output-head.tsx";
import { type LinesHandle, OutputLines } from "./output-lines.tsx";
import { OutputInput } from "./output-input.tsx";
import { OutputTools } from "./output-tools.tsx";
import { useOutputSearch } from "./use-search.ts";
import { useTimes } from "./use-times.ts";

/** The output of one process. */
export function OutputView({ address }: { readonly address: ProcessAddress }) {
  useProcessList();
  const { rows, failure } = processList;
  const row = rows.value?.find(({ listed }) => matchesAddress(listed, address));
  const fromStart = useSignal(false);
  if (row !== undefined) {
    const { startedAtMs, pid } = row.listed;
    // Another process may get the same name.
    const key = `${startedAtMs} ${pid} ${fromStart.value}`;
    return <OutputPane key={key} row={row} address={address} fromStart={fromStart} />;
  }
  return (
    <ViewFrame title={visibleText(address.name)}>
      <Failure error={failure.value} />
      {rows.value === undefined ? null : (
        <EmptyState
          icon="search"
          title={`There is no process ${visibleText(address.name)}`}
          text="It has ended and was forgotten, never ran on this server, or is not visible to you."
        >
          <a class="button plain" href="/p">
            All processes
          </a>
        </EmptyState>
      )}
    </ViewFrame>
  );
}

interface OutputPaneProps {
  readonly row: ProcessRow;
  readonly address: ProcessAddress;
  /** Whether to show the output from the oldest on that is on disk. */
  readonly fromStart: Signal<boolean>;
}

function OutputPane({ row, address, fromStart }: OutputPaneProps) {
  const host = useHost();
  const feed = useMemo(() => new OutputFeed(host, address, { fromStart: fromStart.value }), []);
  const stream = useSignal<Stream | undefined>(undefined);
  const wraps = useSignal(true);
  const hasTimes = useSignal(false);
  const isFollowing = useSignal(!fromStart.value);
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
  const switchWraps = (): void => {
    wraps.value = !wraps.value;
  };
  const switchTimes = (): void => {
    hasTimes.value = !hasTimes.value;
  };
  useCommands(
    () =>
      inGroup("Output", [
        { id: "out-find", title: "Search the output", keys: "/", run: () => search.open() },
        { id: "out-find-too", title: "Search the output", keys: "Ctrl+F", run: () => search.open() },
        ...(search.isOpen.value
          ? [
              { id: "out-next", title: "Next match", keys: "n", run: () => search.go(1) },
              { id: "out-previous", title: "Previous match", keys: "N", run: () => search.go(-1) },
            ]
          : []),
        {
          id: "out-top",
          title: "To the beginning",
          keys: "g g",
          run: () => lines.current?.show(feed.store.first),
        },
        { id: "out-end", title: "To the end, and follow it", keys: "G", run: () => lines.current?.follow() },
        { id: "out-wrap", title: "Wrap long lines, or not", keys: "w", run: switchWraps },
        { id: "out-times", title: "Show when lines were written, or not", keys: "t", run: switchTimes },
      ]),
    [search.isOpen.value],
  );
  return (
    <section class="view">
      <OutputHead row={row} address={address} feed={feed} />
      <OutputTools
        {...{ row, feed, stream, search, switchWraps, switchTimes }}
        wraps={wraps.value}
        hasTimes={hasTimes.value}
        onLeave={() => lines.current?.focus()}
        onJump={(number) => lines.current?.show(feed.store.indexOfNumber(number))}
      />
      <Failure error={feed.failure.value} />
      <OutputLines
        handle={lines}
        feed={feed}
        stream={stream.value}
        wraps={wraps.value}
        times={times}
        search={search}
        isFollowing={isFollowing}
        fromStart={fromStart}
      />
      <OutputInput listed={row.listed} feed={feed} />
    </section>
  );
}

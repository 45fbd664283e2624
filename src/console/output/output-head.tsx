import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { pathOf, type ProcessAddress } from "../processes/process-address.ts";
import { endProcesses } from "../processes/process-actions.ts";
import { HISTORY, type ProcessRow } from "../processes/process-history.ts";
import { serverNow } from "../processes/process-list.ts";
import { signalMenuOf, startedLike } from "../start/process-menu.ts";
import { ProcessState } from "../processes/process-state.tsx";
import { openStart } from "../start/open-start.tsx";
import { Button } from "../ui/button.tsx";
import { commandLine } from "../ui/command-line.ts";
import { formatBytes, formatPercent, formatSpan } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { addressOf as fileAddress, pathFromUri } from "../frame/paths.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { exitWords } from "./exit-words.ts";
import type { OutputFeed } from "./output-feed.ts";

export interface OutputHeadProps {
  readonly row: ProcessRow;
  readonly address: ProcessAddress;
  readonly feed: OutputFeed;
}

/** What the process is, how it does, and what can be done with it. */
export function OutputHead({ row, address, feed }: OutputHeadProps) {
  const host = useHost();
  const signals = useSignal<Element | undefined>(undefined);
  const { listed } = row;
  const isOver = listed.state === "closed";
  const exit = feed.exit.value;
  return (
    <>
      <header class="view-head out-head">
        <a class="out-back" href="/p" title="All processes">
          <Icon name="chevron-right" />
          <span class="hidden-text">All processes</span>
        </a>
        <h1>{visibleText(address.name)}</h1>
        <ProcessState listed={listed} />
        <div class="view-actions">
          {listed.tty ? (
            <a class="button plain" href={pathOf(address, { tty: true })}>
              <Icon name="terminal" />
              <span>Terminal</span>
            </a>
          ) : null}
          {feed.hasControl.value && listed.state === "running" ? (
            <Button icon="system" onClick={(event) => (signals.value = event.currentTarget as Element)}>
              Signal
            </Button>
          ) : null}
          {feed.hasControl.value && !isOver ? (
            <Button icon="stop" kind="danger" onClick={() => void endProcesses(host, [listed])}>
              End
            </Button>
          ) : null}
          {isOver && isAllowed("start") ? (
            <Button icon="refresh" onClick={() => openStart(startedLike(listed))}>
              Start again
            </Button>
          ) : null}
        </div>
      </header>
      <div class="out-facts">
        <code class="out-command" tabIndex={0} title={visibleText(commandLine(listed.argv))}>
          {visibleText(commandLine(listed.argv))}
        </code>
        <dl>
          <Fact name="Directory" isShrinking>
            <a href={directoryLink(listed.cwd)} title={visibleText(pathFromUri(listed.cwd) ?? listed.cwd)}>
              {visibleText(pathFromUri(listed.cwd) ?? listed.cwd)}
            </a>
          </Fact>
          <Fact name="Process id">{listed.pid}</Fact>
          <Fact name={listed.endedAtMs === undefined ? "Running for" : "Ran for"}>
            {formatSpan((listed.endedAtMs ?? serverNow()) - listed.startedAtMs)}
          </Fact>
          {isOver ? (
            <Fact name="Output">{formatBytes(listed.outputBytes)}</Fact>
          ) : (
            <>
              <Chart name="CPU" text={`${formatPercent(row.cpu ?? 0)} %`} values={row.cpus} />
              <Chart
                name="Memory"
                text={listed.usage === undefined ? "" : formatBytes(listed.usage.memoryBytes)}
                values={row.memory}
              />
              <Chart name="Output" text={`${formatBytes(Math.round(row.rate))}/s`} values={row.rates} />
            </>
          )}
        </dl>
        {exit === undefined ? null : (
          <p class={`out-exit${exit.exitCode === 0 ? "" : " bad"}`}>{exitWords(exit).join(" ")}</p>
        )}
      </div>
      {signals.value === undefined ? null : (
        <Menu
          label="Signals"
          items={signalMenuOf(host, listed)}
          at={signals.value}
          onClose={() => {
            signals.value = undefined;
          }}
        />
      )}
    </>
  );
}

function Fact({
  name,
  isShrinking = false,
  children,
}: {
  readonly name: string;
  readonly isShrinking?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <div class={isShrinking ? "out-fact out-shrinking" : "out-fact"}>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  );
}

function Chart({
  name,
  text,
  values,
}: {
  readonly name: string;
  readonly text: string;
  readonly values: readonly number[];
}) {
  return (
    <div class="out-fact out-chart">
      <dt>{name}</dt>
      <dd class="number">{text}</dd>
      <dd class="out-curve">
        <Sparkline values={values} length={HISTORY} label={`${name}: ${text}`} />
      </dd>
    </div>
  );
}

function directoryLink(uri: string): string {
  const path = pathFromUri(uri);
  return path === undefined ? "/f" : fileAddress(path);
}

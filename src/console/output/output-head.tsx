import { useSignal } from "@preact/signals";
import type { ExitReport } from "../../client/browser.ts";
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
import { formatDuration, formatSize } from "../../base/amounts.ts";
import { formatPercent } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { addressOf as fileAddress, pathFromUri } from "../frame/paths.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import { visibleText } from "../../base/visible-text.ts";
import type { OutputFeed } from "./output-feed.ts";

export interface OutputHeadProps {
  readonly row: ProcessRow;
  readonly address: ProcessAddress;
  readonly feed: OutputFeed;
}

/** The process, its state, and actions on it. */
export function OutputHead({ row, address, feed }: OutputHeadProps) {
  const host = useHost();
  const signals = useSignal<Element | undefined>(undefined);
  const { listed } = row;
  const isOver = listed.state === "closed";
  const exit = feed.exit.value;
  const command = visibleText(commandLine(listed.argv));
  const path = pathFromUri(listed.cwd);
  const directory = visibleText(path ?? listed.cwd);
  return (
    <>
      <header class="view-head out-head">
        <a class="out-back" href="/p" title="All processes">
          <Icon name="chevron-right" />
          <span class="hidden-text">All processes</span>
        </a>
        <h1 class="one-line">{visibleText(address.name)}</h1>
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
        <code class="out-command" tabIndex={0} title={command}>
          {command}
        </code>
        <dl>
          <div class="out-fact out-shrinking">
            <dt>Directory</dt>
            <dd class="number one-line">
              <a href={path === undefined ? "/f" : fileAddress(path)} title={directory}>
                {directory}
              </a>
            </dd>
          </div>
          <Fact name="Process id" text={listed.pid} />
          <Fact
            name={listed.endedAtMs === undefined ? "Running for" : "Ran for"}
            text={formatDuration((listed.endedAtMs ?? serverNow()) - listed.startedAtMs)}
          />
          {isOver ? (
            <Fact name="Output" text={formatSize(listed.outputBytes)} />
          ) : (
            <>
              <Fact name="CPU" text={`${formatPercent(row.cpu ?? 0)} %`} values={row.cpus} />
              <Fact
                name="Memory"
                text={listed.usage === undefined ? "" : formatSize(listed.usage.memoryBytes)}
                values={row.memory}
              />
              <Fact name="Output" text={`${formatSize(Math.round(row.rate))}/s`} values={row.rates} />
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

interface FactProps {
  readonly name: string;
  readonly text: string | number;
  /** Values of the chart beside it. */
  readonly values?: readonly number[];
}

function Fact({ name, text, values }: FactProps) {
  return (
    <div class={values === undefined ? "out-fact" : "out-fact out-chart"}>
      <dt>{name}</dt>
      <dd class="number">{text}</dd>
      {values === undefined ? null : (
        <dd class="out-curve">
          <Sparkline values={values} length={HISTORY} label={`${name}: ${text}`} />
        </dd>
      )}
    </div>
  );
}

/** Describes in sentences how a process ended. */
function exitWords(report: ExitReport): readonly string[] {
  const { exitCode, signal, killedBy, timedOut, sandboxDenied, cpuTimeMs, peakMemoryBytes } = report;
  const words: string[] = [];
  if (signal !== undefined)
    words.push(`Ended by ${signal}${killedBy === undefined ? "" : `, ${SENDERS[killedBy]}`}.`);
  else if (exitCode !== null) words.push(`Exited with status ${exitCode}.`);
  if (timedOut === true) words.push("Timed out.");
  if (sandboxDenied) words.push("Its sandbox probably denied something it needed.");
  if (cpuTimeMs !== undefined) words.push(`${cpuText(cpuTimeMs.user + cpuTimeMs.system)} of CPU time.`);
  if (peakMemoryBytes !== undefined) words.push(`Peak memory: ${formatSize(peakMemoryBytes)}.`);
  return words;
}

const SENDERS = {
  client: "sent through this server",
  timeout: "because its timeout expired",
  server: "sent by the server",
} as const;

function cpuText(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : formatDuration(ms);
}

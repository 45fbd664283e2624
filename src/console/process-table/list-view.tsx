import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { TerminalDock } from "../terminals/dock.tsx";
import { openStart } from "../start/open-start.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { GridFilter } from "../ui/grid-filter.tsx";
import { Menu, type MenuProps } from "../ui/menu.tsx";
import { arrange, DEFAULT_SORTING, isRunning } from "./arrange.ts";
import { addressOf, pathOf } from "../processes/process-address.ts";
import { endProcesses, forgetProcesses } from "../processes/process-actions.ts";
import { processList, useProcessList } from "../processes/process-list.ts";
import { menuOf, signalMenuOf } from "../start/process-menu.ts";
import { ProcessTable } from "./process-table.tsx";
import type { ProcessRow } from "../processes/process-history.ts";
import { SelectionBar } from "./selection-bar.tsx";

type MenuPosition = MenuProps["at"];

interface ShownMenu {
  readonly row: ProcessRow;
  readonly at: MenuPosition;
  readonly isSignals: boolean;
}

export function ListView() {
  useProcessList();
  const host = useHost();
  const filter = useSignal("");
  const sorting = useSignal(DEFAULT_SORTING);
  const cursor = useSignal<string | undefined>(undefined);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const menu = useSignal<ShownMenu | undefined>(undefined);
  const filterField = useRef<HTMLInputElement>(null);
  const { rows, failure } = processList;
  const shown = useComputed(() =>
    arrange(rows.value ?? [], { filter: filter.value, sorting: sorting.value }),
  );
  const current = (): ProcessRow | undefined => shown.value.find(({ key }) => key === cursor.value);
  const open = (row: ProcessRow | undefined): void => {
    const address = row && addressOf(row.listed);
    if (address !== undefined) navigate(pathOf(address, row!.listed));
  };
  const move = (by: number): void => {
    const index = shown.value.findIndex(({ key }) => key === cursor.value);
    const next = index < 0 ? 0 : Math.min(shown.value.length - 1, Math.max(0, index + by));
    cursor.value = shown.value[next]?.key;
  };
  const toggle = (key: string): void => {
    const keys = new Set(selected.value);
    if (!keys.delete(key)) keys.add(key);
    selected.value = keys;
  };
  const chosen = (): readonly ProcessRow[] => {
    const marked = shown.value.filter(({ key }) => selected.value.has(key));
    const row = current();
    return marked.length > 0 || row === undefined ? marked : [row];
  };
  const openMenu = (row: ProcessRow, at: MenuPosition, isSignals = false): void => {
    cursor.value = row.key;
    menu.value = { row, at, isSignals };
  };
  useCommands(
    () => [
      {
        id: "proc-filter",
        title: "Filter the list",
        group: "Processes",
        keys: "/",
        run: () => filterField.current?.focus(),
      },
      { id: "proc-next", title: "Next process", group: "Processes", keys: "ArrowDown", run: () => move(1) },
      { id: "proc-next-j", title: "Next process", group: "Processes", keys: "j", run: () => move(1) },
      {
        id: "proc-previous",
        title: "Previous process",
        group: "Processes",
        keys: "ArrowUp",
        run: () => move(-1),
      },
      {
        id: "proc-previous-k",
        title: "Previous process",
        group: "Processes",
        keys: "k",
        run: () => move(-1),
      },
      {
        id: "proc-open",
        title: "Open the process",
        group: "Processes",
        keys: "Enter",
        run: () => open(current()),
      },
      {
        id: "proc-select",
        title: "Select the process, for several at once",
        group: "Processes",
        keys: "Space",
        right: "control",
        run: () => cursor.value !== undefined && toggle(cursor.value),
      },
      {
        id: "proc-signal",
        title: "Send a signal",
        group: "Processes",
        keys: "x",
        right: "control",
        run: () => {
          const row = current();
          const element = document.querySelector(".proc-row.current");
          if (row !== undefined && element !== null) openMenu(row, element, true);
        },
      },
      {
        id: "proc-end",
        title: "End the process, or those selected",
        group: "Processes",
        keys: "Delete",
        right: "control",
        run: () =>
          void endProcesses(
            host,
            chosen().map(({ listed }) => listed),
          ),
      },
      {
        id: "proc-forget-ended",
        title: "Forget all ended processes",
        group: "Processes",
        right: "control",
        run: () =>
          void forgetProcesses(
            host,
            (rows.value ?? []).map(({ listed }) => listed),
          ),
      },
    ],
    [host],
  );
  const isEmpty = rows.value !== undefined && rows.value.length === 0;
  const running = (rows.value ?? []).filter(isRunning).length;
  return (
    <ViewFrame
      title={
        <>
          Processes
          {rows.value === undefined ? null : (
            <span class="view-count number">
              {running} running
              {rows.value.length > running ? `, ${rows.value.length - running} ended` : ""}
            </span>
          )}
        </>
      }
      actions={
        <>
          <GridFilter field={filterField} label="Filter the processes" filter={filter} />
          {isAllowed("start") ? (
            <Button kind="primary" icon="plus" title="Start a process (n)" onClick={() => openStart()}>
              Start
            </Button>
          ) : null}
        </>
      }
    >
      <div class="view-column">
        {failure.value === undefined ? null : (
          <div class="proc-failure">
            <ErrorBox {...describeError(failure.value)} />
          </div>
        )}
        {isEmpty ? (
          <EmptyState
            icon="processes"
            title="Nothing runs yet"
            text={
              isAllowed("start")
                ? "Start a command, and it is listed here with its output, even when this page is closed in between."
                : "What others start is listed here, as far as you may see it."
            }
          >
            {isAllowed("start") ? (
              <Button kind="primary" icon="plus" onClick={() => openStart()}>
                Start a process
              </Button>
            ) : null}
          </EmptyState>
        ) : (
          <ProcessTable
            rows={shown.value}
            sorting={sorting}
            cursor={cursor}
            selected={selected.value}
            onToggle={toggle}
            onOpen={open}
            onMenu={openMenu}
            emptyText={rows.value === undefined ? "" : "No process matches the filter."}
          />
        )}
        <SelectionBar rows={shown.value} selected={selected} />
        {isAllowed("start") ? <TerminalDock /> : null}
      </div>
      <OpenMenu menu={menu} onSignals={(row, at) => openMenu(row, at, true)} />
    </ViewFrame>
  );
}

function OpenMenu({
  menu,
  onSignals,
}: {
  readonly menu: Signal<ShownMenu | undefined>;
  readonly onSignals: (row: ProcessRow, at: MenuPosition) => void;
}) {
  const host = useHost();
  if (menu.value === undefined) return null;
  const { row, at, isSignals } = menu.value;
  return (
    <Menu
      key={`${row.key} ${isSignals}`}
      label={isSignals ? "Signals" : "Actions"}
      items={isSignals ? signalMenuOf(host, row.listed) : menuOf(host, row.listed, () => onSignals(row, at))}
      at={at}
      onClose={() => {
        menu.value = undefined;
      }}
    />
  );
}

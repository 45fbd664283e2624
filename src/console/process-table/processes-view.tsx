import { useComputed, useSignal } from "@preact/signals";
import type { ListedProcess } from "../../client/browser.ts";
import { Failure } from "../connection/failure.tsx";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { OutputView } from "../output/output-view.tsx";
import { TerminalDock } from "../terminals/dock.tsx";
import { openStart } from "../start/open-start.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { useGridCursor } from "../ui/grid-cursor.ts";
import { GridFilter } from "../ui/grid-filter.tsx";
import { Menu, type MenuProps } from "../ui/menu.tsx";
import { arrange, DEFAULT_SORTING, isRunning } from "./arrange.ts";
import { addressAt, addressOf, pathOf } from "../processes/process-address.ts";
import { endProcesses, forgetProcesses } from "../processes/process-actions.ts";
import { processList, useProcessList } from "../processes/process-list.ts";
import { menuOf, signalMenuOf } from "../start/process-menu.ts";
import { ProcessTable } from "./process-table.tsx";
import type { ProcessRow } from "../processes/process-history.ts";

/** All processes, or the output of the one that the path names. */
export default function ProcessesView({ path }: ViewProps) {
  const address = addressAt(path);
  return address === undefined ? <ListView /> : <OutputView key={path} address={address} />;
}

interface ShownMenu extends Omit<MenuProps, "onClose"> {
  readonly id: string;
}

function ListView() {
  useProcessList();
  const host = useHost();
  const filter = useSignal("");
  const sorting = useSignal(DEFAULT_SORTING);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const menu = useSignal<ShownMenu | undefined>(undefined);
  const { rows, failure } = processList;
  const shown = useComputed(() =>
    arrange(rows.value ?? [], { filter: filter.value, sorting: sorting.value }),
  );
  const { cursor, current, filterField, commands } = useGridCursor(shown, ({ key }) => key);
  const open = (row: ProcessRow | undefined): void => {
    const address = row && addressOf(row.listed);
    if (address !== undefined) navigate(pathOf(address, row!.listed));
  };
  const toggle = (key: string): void => {
    const keys = new Set(selected.value);
    if (!keys.delete(key)) keys.add(key);
    selected.value = keys;
  };
  const marked = (): readonly ProcessRow[] => shown.value.filter(({ key }) => selected.value.has(key));
  const chosen = (): readonly ProcessRow[] => {
    const row = current();
    return marked().length > 0 || row === undefined ? marked() : [row];
  };
  const openMenu = (row: ProcessRow, at: MenuProps["at"], isSignals = false): void => {
    const { key, listed } = row;
    cursor.value = key;
    menu.value = isSignals
      ? { id: `${key} signals`, label: "Signals", items: signalMenuOf(host, listed), at }
      : { id: key, label: "Actions", items: menuOf(host, listed, () => openMenu(row, at, true)), at };
  };
  useCommands(
    () =>
      inGroup("Processes", [
        ...commands("proc", "process"),
        { id: "proc-open", title: "Open the process", keys: "Enter", run: () => open(current()) },
        {
          id: "proc-select",
          title: "Select the process, for several at once",
          keys: "Space",
          right: "control",
          run: () => cursor.value !== undefined && toggle(cursor.value),
        },
        {
          id: "proc-signal",
          title: "Send a signal",
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
          keys: "Delete",
          right: "control",
          run: () => void endProcesses(host, chosen().map(listedOf)),
        },
        {
          id: "proc-forget-ended",
          title: "Forget all ended processes",
          right: "control",
          run: () => void forgetProcesses(host, (rows.value ?? []).map(listedOf)),
        },
      ]),
    [host],
  );
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
        <Failure error={failure.value} />
        {rows.value?.length === 0 ? (
          <NoProcesses />
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
        <SelectionBar
          chosen={marked().map(listedOf)}
          onClear={() => {
            selected.value = new Set();
          }}
        />
        {isAllowed("start") ? <TerminalDock /> : null}
      </div>
      {menu.value === undefined ? null : (
        <Menu
          key={menu.value.id}
          {...menu.value}
          onClose={() => {
            menu.value = undefined;
          }}
        />
      )}
    </ViewFrame>
  );
}

function listedOf({ listed }: ProcessRow): ListedProcess {
  return listed;
}

interface SelectionBarProps {
  readonly chosen: readonly ListedProcess[];
  readonly onClear: () => void;
}

/** Actions on all selected processes at once. */
function SelectionBar({ chosen, onClear }: SelectionBarProps) {
  const host = useHost();
  if (chosen.length === 0) return null;
  const isOver = chosen.every(({ state }) => state === "closed");
  return (
    <div class="proc-selection foot-bar" role="toolbar" aria-label="Selected processes">
      <span class="number">{chosen.length} selected</span>
      {isOver ? (
        <Button icon="trash" kind="danger" onClick={() => void forgetProcesses(host, chosen).then(onClear)}>
          Forget
        </Button>
      ) : (
        <Button icon="stop" kind="danger" onClick={() => void endProcesses(host, chosen).then(onClear)}>
          End
        </Button>
      )}
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
    </div>
  );
}

function NoProcesses() {
  const mayStart = isAllowed("start");
  return (
    <EmptyState
      icon="processes"
      title="Nothing is running yet"
      text={
        mayStart
          ? "Start a command, and it appears here with its output, even if you close this page in between."
          : "Processes that others start appear here if you may see them."
      }
    >
      {mayStart ? (
        <Button kind="primary" icon="plus" onClick={() => openStart()}>
          Start a process
        </Button>
      ) : null}
    </EmptyState>
  );
}

import type { Signal } from "@preact/signals";
import { useHost } from "../connection/use-host.ts";
import { Button } from "../ui/button.tsx";
import { endProcesses, forgetProcesses } from "../processes/process-actions.ts";
import type { ProcessRow } from "../processes/process-history.ts";

export interface SelectionBarProps {
  readonly rows: readonly ProcessRow[];
  readonly selected: Signal<ReadonlySet<string>>;
}

/** What can be done with all selected processes at once. */
export function SelectionBar({ rows, selected }: SelectionBarProps) {
  const host = useHost();
  const chosen = rows.filter(({ key }) => selected.value.has(key)).map(({ listed }) => listed);
  if (chosen.length === 0) return null;
  const clear = (): void => {
    selected.value = new Set();
  };
  const isOver = chosen.every(({ state }) => state === "closed");
  return (
    <div class="proc-selection" role="toolbar" aria-label="Selected processes">
      <span class="number">{chosen.length} selected</span>
      {isOver ? (
        <Button icon="trash" kind="danger" onClick={() => void forgetProcesses(host, chosen).then(clear)}>
          Forget
        </Button>
      ) : (
        <Button icon="stop" kind="danger" onClick={() => void endProcesses(host, chosen).then(clear)}>
          End
        </Button>
      )}
      <Button kind="quiet" onClick={clear}>
        Clear
      </Button>
    </div>
  );
}

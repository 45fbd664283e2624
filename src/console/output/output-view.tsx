import { describeError } from "../connection/describe-error.ts";
import type { ProcessAddress } from "../processes/process-address.ts";
import { isAt } from "../processes/process-address.ts";
import { processList, useProcessList } from "../processes/process-list.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { OutputPane } from "./output-pane.tsx";

/** The output of one process. */
export function OutputView({ address }: { readonly address: ProcessAddress }) {
  useProcessList();
  const { rows, failure } = processList;
  const row = rows.value?.find(({ listed }) => isAt(listed, address));
  if (row !== undefined)
    // Another process may get the same name.
    return <OutputPane key={`${row.listed.startedAtMs} ${row.listed.pid}`} row={row} address={address} />;
  return (
    <ViewFrame title={visibleText(address.name)}>
      {failure.value === undefined ? null : (
        <div class="view-failed">
          <ErrorBox {...describeError(failure.value)} />
        </div>
      )}
      {rows.value === undefined ? null : (
        <EmptyState
          icon="search"
          title={`There is no process ${visibleText(address.name)}`}
          text="It was forgotten after its end, or never started on this server, or your access does not show it."
        >
          <a class="button plain" href="/p">
            All processes
          </a>
        </EmptyState>
      )}
    </ViewFrame>
  );
}

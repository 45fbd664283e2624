import type { ListedProcess } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { navigate } from "../frame/router.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Icon } from "../ui/icon.tsx";
import { Keys } from "../ui/keys.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { pathOf } from "./addresses.ts";
import { keptTerminals } from "./kept-terminals.ts";
import type { PaneLayout } from "./layout.ts";
import { isStarting, openNew } from "./open-terminals.ts";

const MOST_COMMAND = 200;

/** Shown while no terminal is open: how to open one, and which run already. */
export function Chooser() {
  const host = useHost();
  const listed = keptTerminals.value?.terminals.filter(({ state }) => state === "running") ?? [];
  return (
    <div class="term-chooser">
      <EmptyState
        icon="terminal"
        title="No terminal is open"
        text={
          isAllowed("start")
            ? "A terminal keeps running when you close the page, and is here when you come back."
            : "Terminals that others have started are listed here, as far as you may see them."
        }
      >
        {isAllowed("start") ? (
          <>
            <Button kind="primary" icon="plus" disabled={isStarting.value} onClick={() => void openNew(host)}>
              New terminal
            </Button>
            <Keys keys="n" />
          </>
        ) : null}
      </EmptyState>
      {listed.length === 0 ? null : (
        <section class="term-running" aria-labelledby="term-running">
          <h2 id="term-running">Running</h2>
          <ul>
            {listed.map((process) => (
              <Running key={`${process.owner} ${process.name}`} process={process} all={listed} />
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Running({
  process,
  all,
}: {
  readonly process: ListedProcess;
  readonly all: readonly ListedProcess[];
}) {
  const { attached = 0 } = process;
  const name = visibleText(process.name ?? process.processId);
  const open = (mode: PaneLayout["mode"]): void => navigate(pathOf(paneOf(process, all, mode)));
  return (
    <li>
      <button type="button" class="term-running-open" onClick={() => open("control")}>
        <Icon name="terminal" />
        <span class="term-running-name">{name}</span>
        <code>{visibleText(process.argv.join(" ").slice(0, MOST_COMMAND))}</code>
        {attached > 0 ? (
          <Badge title={`${attached} attached`}>
            <Icon name="people" />
            {attached}
          </Badge>
        ) : null}
      </button>
      <Button kind="quiet" icon="eye" title={`Look at ${name} without typing`} onClick={() => open("follow")}>
        Look on
      </Button>
    </li>
  );
}

/** How a listed terminal is shown. Its owner is named where the name is not enough. */
function paneOf(process: ListedProcess, all: readonly ListedProcess[], mode: PaneLayout["mode"]): PaneLayout {
  const isOnly = all.filter(({ name }) => name === process.name).length === 1;
  const owner = isOnly || process.owner === undefined ? {} : { owner: process.owner };
  return { kind: "pane", name: process.name ?? process.processId, ...owner, mode };
}

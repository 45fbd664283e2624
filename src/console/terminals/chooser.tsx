import { useLayoutEffect, useRef } from "preact/hooks";
import type { ListedProcess } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { navigate } from "../frame/router.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { keepsFocus } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { Keys } from "../ui/keys.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { pathOf } from "./addresses.ts";
import { keptTerminals } from "./kept-terminals.ts";
import type { PaneLayout } from "./layout.ts";
import { isStarting, openNew } from "./open-terminals.ts";

const MAX_COMMAND_CHARACTERS = 200;

/** Shown while no terminal is open: how to open one, and which run already. */
export function Chooser() {
  const host = useHost();
  const listed = keptTerminals.value?.terminals.filter(({ state }) => state === "running") ?? [];
  const box = useRef<HTMLDivElement>(null);
  // Keys typed here are meant for a terminal, not for the page's commands; also while one is being started.
  useLayoutEffect(() => {
    if (keepsFocus(document.activeElement)) return;
    (box.current?.querySelector<HTMLElement>("button") ?? box.current)?.focus();
  }, [isStarting.value]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && event.target === box.current && isAllowed("start")) void openNew(host);
  };
  return (
    <div class="term-chooser" data-keys="field" tabIndex={-1} ref={box} onKeyDown={onKeyDown}>
      {isStarting.value ? (
        <EmptyState icon="terminal" title="Starting a terminal…" text="" />
      ) : (
        <EmptyState
          icon="terminal"
          title="No terminal is open"
          text={
            isAllowed("start")
              ? "A terminal keeps running when you close the page, and is here when you come back."
              : "Terminals that others start appear here if you may see them."
          }
        >
          {isAllowed("start") ? (
            <>
              <Button kind="primary" icon="plus" onClick={() => void openNew(host)}>
                New terminal
              </Button>
              <Keys keys="Enter" />
            </>
          ) : null}
        </EmptyState>
      )}
      {isStarting.value || listed.length === 0 ? null : (
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
        <code class="one-line">{visibleText(process.argv.join(" ").slice(0, MAX_COMMAND_CHARACTERS))}</code>
        {attached > 0 ? (
          <Badge title={`${attached} attached`}>
            <Icon name="people" />
            {attached}
          </Badge>
        ) : null}
      </button>
      <Button kind="quiet" icon="eye" title={`Watch ${name} without typing`} onClick={() => open("follow")}>
        Watch
      </Button>
    </li>
  );
}

/** How a listed terminal opens. Its owner is named where the name is ambiguous. */
function paneOf(process: ListedProcess, all: readonly ListedProcess[], mode: PaneLayout["mode"]): PaneLayout {
  const isOnly = all.filter(({ name }) => name === process.name).length === 1;
  const owner = isOnly || process.owner === undefined ? {} : { owner: process.owner };
  return { kind: "pane", name: process.name ?? process.processId, ...owner, mode };
}

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Host } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { Badge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { askToClose } from "./closing.tsx";
import { findTerminal } from "./kept-terminals.ts";
import { focusedPane, terminalKey, panesOf, renameTab, selectTab, type TabLayout } from "./layout.ts";
import { layout, openNew } from "./open-terminals.ts";
import { paneModels } from "./pane-model.ts";

export function TabBar() {
  const host = useHost();
  const { tabs, current } = layout.value;
  const list = useRef<HTMLDivElement>(null);
  // Also when the bar's width becomes known or changes.
  useLayoutEffect(() => {
    const bar = list.current!;
    const observer = new ResizeObserver(() =>
      bar.querySelector("[data-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    );
    observer.observe(bar);
    return () => observer.disconnect();
  }, [current, tabs.length]);
  return (
    <header class="term-head">
      <h1 class="hidden-text">Terminals</h1>
      <div class="term-tabs" role="tablist" aria-label="Terminals" ref={list}>
        {tabs.map((tab) => (
          <Tab key={tab.id} tab={tab} isCurrent={tab.id === current} />
        ))}
      </div>
      {isAllowed("start") ? (
        <IconButton icon="plus" label="New terminal" keys="Alt+Shift+N" onClick={() => void openNew(host)} />
      ) : null}
      <PaneActions host={host} />
    </header>
  );
}

/** Actions on the terminal that has the keyboard, and how many people are attached to it. */
function PaneActions({ host }: { readonly host: Host }) {
  const pane = focusedPane(layout.value);
  if (pane === undefined) return null;
  const model = paneModels.value.get(terminalKey(pane));
  const attached = findTerminal(pane)?.attached;
  return (
    <div class="term-actions">
      {attached === undefined || attached < 2 ? null : (
        <span class="term-people hint number" title={`${attached} are looking at this terminal`}>
          <Icon name="people" />
          {attached}
        </span>
      )}
      {model?.isReadOnly ? <Badge kind="accent">Read-only</Badge> : null}
      <IconButton
        icon="search"
        label="Find in this terminal"
        keys="Ctrl+Shift+F"
        onClick={() => {
          if (model !== undefined) model.isSearching.value = true;
        }}
      />
      {isAllowed("start") ? (
        <span class="term-wide">
          <IconButton
            icon="split"
            label="Split to the right"
            keys="Alt+Shift+R"
            onClick={() => void openNew(host, "right")}
          />
          <IconButton
            icon="split-down"
            label="Split down"
            keys="Alt+Shift+D"
            onClick={() => void openNew(host, "down")}
          />
        </span>
      ) : null}
    </div>
  );
}

/** Title of a tab. */
function titleOf(tab: TabLayout): string {
  if (tab.title !== undefined) return visibleText(tab.title);
  const focused = panesOf(tab.root).find((pane) => terminalKey(pane) === tab.focus);
  return visibleText(focused?.name ?? tab.focus);
}

function Tab({ tab, isCurrent }: { readonly tab: TabLayout; readonly isCurrent: boolean }) {
  const isRenaming = useSignal(false);
  const panes = panesOf(tab.root);
  const models = panes.map((pane) => paneModels.value.get(terminalKey(pane)));
  const hasEnded = models.every((model) => model !== undefined && "report" in model.state.value);
  const isRinging = !isCurrent && models.some((model) => model?.isRinging.value);
  const programTitle = models.find((model) => model?.title.value)?.title.value;
  const name = titleOf(tab);
  const rename = (title: string): void => {
    isRenaming.value = false;
    layout.value = renameTab(
      layout.value,
      tab.id,
      title.trim() === "" ? undefined : title.trim().slice(0, 80),
    );
  };
  if (isRenaming.value)
    return (
      <input
        class="term-rename"
        aria-label="Name of the tab"
        value={tab.title ?? name}
        autofocus
        ref={(input) => input?.select()}
        onBlur={(event) => rename(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") rename(event.currentTarget.value);
          else if (event.key === "Escape") isRenaming.value = false;
        }}
      />
    );
  return (
    <div class="term-tab" data-current={isCurrent ? "" : undefined} data-ringing={isRinging ? "" : undefined}>
      <button
        type="button"
        role="tab"
        aria-selected={isCurrent}
        title={[name, programTitle].filter(Boolean).join(" · ")}
        onClick={() => {
          layout.value = selectTab(layout.value, tab.id);
          paneModels.value.get(tab.focus)?.focus();
        }}
        onDblClick={() => {
          isRenaming.value = true;
        }}
        onAuxClick={(event) => event.button === 1 && askToClose(panes)}
      >
        <Icon name={hasEnded ? "stop" : "terminal"} />
        <span class="one-line">{name}</span>
        {panes.length > 1 ? <span class="hint number term-tab-count">{panes.length}</span> : null}
      </button>
      {/* For the mouse: a tab list may contain only tabs, and a key closes the current one. */}
      <button
        class="icon-button"
        type="button"
        tabIndex={-1}
        aria-hidden="true"
        title={`Close ${name}`}
        onClick={() => askToClose(panes)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

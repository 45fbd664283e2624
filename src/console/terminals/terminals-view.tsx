import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { navigate } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { NEW_TERMINAL, paneAt, pathOf } from "./addresses.ts";
import { Chooser } from "./chooser.tsx";
import { ClosingQuestion } from "./closing.tsx";
import { useKeptTerminals } from "./kept-terminals.ts";
import { focusedPane, terminalKey, show } from "./layout.ts";
import { layout, openNew } from "./open-terminals.ts";
import { SplitPanes } from "./split-panes.tsx";
import { TabBar } from "./tab-bar.tsx";
import { useTerminalCommands } from "./terminal-commands.ts";

/** Terminals in tabs and panes. The address names the focused one. */
export default function TerminalsView({ path }: ViewProps) {
  const host = useHost();
  useKeptTerminals();
  useTerminalCommands();
  /** The address that the layout has requested. It arrives late, when keys may have switched to another tab. */
  const requested = useRef("");
  useEffect(() => {
    if (path === NEW_TERMINAL && isAllowed("start")) void openNew(host);
    if (path === requested.current || path === NEW_TERMINAL) return;
    const named = paneAt(path);
    const shown = focusedPane(layout.value);
    if (named !== undefined && (shown === undefined || pathOf(shown) !== path))
      layout.value = show(layout.value, named);
    else if (named === undefined && shown !== undefined) navigate(pathOf(shown), { replace: true });
  }, [path]);
  useSignalEffect(() => {
    const shown = focusedPane(layout.value);
    // Not while the address is about to change the layout.
    if (!location.pathname.startsWith("/t")) return;
    requested.current = shown === undefined ? "/t" : pathOf(shown);
    navigate(requested.current, { replace: true });
  });
  const { tabs, current } = layout.value;
  // Emulators are slow to create, so those of a tab are created when it is first shown.
  const seen = useRef(new Set<number>()).current;
  if (current !== undefined) seen.add(current);
  if (tabs.length === 0) return <Chooser />;
  return (
    <section class="view term-view">
      <TabBar />
      <div class="term-sheets">
        {tabs.map((tab) => (
          <div
            key={tab.id}
            class="term-sheet"
            role="tabpanel"
            aria-label={terminalKey({ name: tab.focus })}
            hidden={tab.id !== current}
          >
            {seen.has(tab.id) ? (
              <SplitPanes
                node={tab.root}
                tab={tab.id}
                path={[]}
                focused={tab.id === current ? tab.focus : undefined}
              />
            ) : null}
          </div>
        ))}
      </div>
      <ClosingQuestion />
    </section>
  );
}

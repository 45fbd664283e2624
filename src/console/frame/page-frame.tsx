import type { ComponentChildren } from "preact";
import { Brand } from "../connection/entrance.tsx";
import { connectNow, leave, type LinkState, serverLink } from "../connection/server-link.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Keys } from "../ui/keys.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { type Command, inGroup } from "./commands.ts";
import { KeySheet, openKeySheet } from "./key-sheet.tsx";
import { openPalette, Palette } from "./palette.tsx";
import { path } from "./router.ts";
import { switchTheme, theme } from "./theme.ts";
import { type View, viewOf } from "./view.ts";

const STATES: Record<LinkState, { readonly title: string; readonly tone: "good" | "warn" | "bad" }> = {
  entering: { title: "Connecting", tone: "warn" },
  asking: { title: "Not connected", tone: "warn" },
  connecting: { title: "Connecting", tone: "warn" },
  connected: { title: "Connected", tone: "good" },
  recovering: { title: "Reconnecting", tone: "warn" },
  lost: { title: "Reconnecting", tone: "bad" },
};

interface RailProps {
  readonly views: readonly Pick<View, "title" | "icon" | "path">[];
  /** Name of the server or fleet that the page is connected to. */
  readonly where: string;
}

/** The frame around the views of a page. */
export function PageFrame({ views, where, children }: RailProps & { readonly children: ComponentChildren }) {
  return (
    <div class="frame">
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <Rail views={views} where={where} />
      <main class="frame-main" id="view" tabIndex={-1}>
        {children}
      </main>
      <Palette />
      <KeySheet />
    </div>
  );
}

/** Navigation, at the left, or at the bottom of a phone. */
function Rail({ views, where }: RailProps) {
  const current = viewOf(path.value, views);
  const state = serverLink.state.value;
  const { title, tone } = STATES[state];
  return (
    <nav class="rail" aria-label="Views">
      <div class="rail-head">
        <Brand />
      </div>
      <button class="rail-find" type="button" onClick={openPalette}>
        <Icon name="search" />
        <span class="rail-find-text one-line">Commands</span>
        <Keys keys="Ctrl+K" />
      </button>
      <ul class="rail-views">
        {views.map((view) => (
          <li key={view.path}>
            <a href={view.path} aria-current={view === current ? "page" : undefined}>
              <Icon name={view.icon} />
              <span>{view.title}</span>
            </a>
          </li>
        ))}
        <li class="rail-more">
          <button type="button" onClick={openPalette}>
            <Icon name="more" />
            <span>More</span>
          </button>
        </li>
      </ul>
      <div class="rail-foot">
        <span class={`rail-state ${state} ${tone}`} title={`${title}: ${visibleText(where)}`}>
          <span class="dot" />
          <span class="hidden-text">{title}: </span>
          <span class="rail-where one-line">{visibleText(where)}</span>
        </span>
        <IconButton icon="keyboard" label="Show all keys" keys="?" onClick={openKeySheet} />
        <IconButton
          icon={theme.value === "dark" ? "sun" : "moon"}
          label={theme.value === "dark" ? "Light colours" : "Dark colours"}
          onClick={switchTheme}
        />
      </div>
    </nav>
  );
}

export interface BannerProps {
  /** Undefined hides the banner. */
  readonly text: string | undefined;
  /** Whether the page waits before it reconnects. */
  readonly mayConnect: boolean;
}

/** Reports connection problems above a view, and what the page does about them. */
export function Banner({ text, mayConnect }: BannerProps) {
  return (
    <div role="status" aria-live="polite">
      {text === undefined ? null : (
        <div class="banner">
          <Icon name="warning" />
          <p>{text}</p>
          {mayConnect ? (
            <button class="banner-action" type="button" onClick={connectNow}>
              Try now
            </button>
          ) : null}
        </div>
      )}
    </div>
  );
}

/** Commands that are available everywhere. */
export function generalCommands(): readonly Command[] {
  return inGroup("General", [
    { id: "palette", title: "Find a command", keys: "Ctrl+K", run: openPalette },
    { id: "palette-anywhere", title: "Find a command, even in a terminal", keys: "F1", run: openPalette },
    { id: "keys", title: "Show all keys", keys: "?", run: openKeySheet },
    { id: "theme", title: "Switch between light and dark", keys: "Ctrl+Alt+L", run: switchTheme },
    { id: "leave", title: "Sign out of this tab", run: () => void leave() },
  ]);
}

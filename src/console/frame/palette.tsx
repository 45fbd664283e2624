import { computed, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { hasWords } from "../ui/arrange-rows.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Keys } from "../ui/keys.tsx";
import { type Command, commands } from "./commands.ts";

const isPaletteOpen = signal(false);
const query = signal("");
const chosen = signal(0);

/** The palette does not list itself. */
const OWN_COMMANDS = "palette";

/** Commands of every view come after the current view's own. */
const EVERYWHERE = new Set(["Go to", "General"]);

const matches = computed(() => {
  const isEverywhere = ({ group }: Command): number => Number(EVERYWHERE.has(group));
  const sorted = commands.value.toSorted((one, other) => isEverywhere(one) - isEverywhere(other));
  return sorted.filter(
    ({ id, title, group }) => !id.startsWith(OWN_COMMANDS) && hasWords(`${group} ${title}`, query.value),
  );
});

export function openPalette(): void {
  // Before the first key, which belongs to it.
  query.value = "";
  chosen.value = 0;
  isPaletteOpen.value = true;
}

/** Everything that can be done, by typing a part of its name. */
export function Palette() {
  const list = useRef<HTMLUListElement>(null);
  if (!isPaletteOpen.value) return null;
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const run = (command: Command | undefined): void => {
    close();
    // After the dialog has returned the focus.
    if (command !== undefined) setTimeout(command.run);
  };
  const choose = (index: number): void => {
    const { length } = matches.value;
    chosen.value = length === 0 ? 0 : (index + length) % length;
    list.current?.children[chosen.value]?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") choose(chosen.value + 1);
    else if (event.key === "ArrowUp") choose(chosen.value - 1);
    else if (event.key === "Enter") run(matches.value[chosen.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Commands" size="medium" bare onClose={close}>
      <input
        class="palette-query"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen.value}`}
        aria-label="Find a command"
        placeholder="What do you want to do?"
        autofocus
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          query.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {matches.value.map((command, index) => (
          // Keys are handled by the field above.
          <li
            key={command.id}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            onClick={() => run(command)}
            onMouseMove={() => {
              chosen.value = index;
            }}
          >
            <span class="palette-group one-line">{command.group}</span>
            <span class="palette-title one-line">{command.title}</span>
            {command.keys === undefined ? null : <Keys keys={command.keys} />}
          </li>
        ))}
      </ul>
      {matches.value.length === 0 ? <p class="palette-none">No matching command.</p> : null}
    </Dialog>
  );
}

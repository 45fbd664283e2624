import { computed, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";
import { Keys } from "../ui/keys.tsx";
import { type Command, commands } from "./commands.ts";

const isPaletteOpen = signal(false);
const query = signal("");
const chosen = signal(0);

/** It does not offer to open itself. */
const OWN_COMMANDS = "palette";

/** What is there in every view comes after what this one can do. */
const EVERYWHERE = new Set(["Go to", "General"]);

const found = computed(() => {
  const words = query.value.toLowerCase().split(/\s+/);
  const isEverywhere = ({ group }: Command): number => Number(EVERYWHERE.has(group));
  const sorted = commands.value.toSorted((one, other) => isEverywhere(one) - isEverywhere(other));
  return sorted.filter(({ id, title, group }) => {
    if (id.startsWith(OWN_COMMANDS)) return false;
    const text = `${group} ${title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

export function openPalette(): void {
  // Before the first key, which is meant for it.
  query.value = "";
  chosen.value = 0;
  isPaletteOpen.value = true;
}

/** Everything that can be done, by typing a part of its name. */
export function Palette() {
  if (!isPaletteOpen.value) return null;
  return <OpenPalette />;
}

function OpenPalette() {
  const list = useRef<HTMLUListElement>(null);
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const run = (command: Command | undefined): void => {
    close();
    // After the dialog has given the focus back.
    if (command !== undefined) setTimeout(command.run);
  };
  const choose = (index: number): void => {
    const { length } = found.value;
    chosen.value = length === 0 ? 0 : (index + length) % length;
    list.current?.children[chosen.value]?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") choose(chosen.value + 1);
    else if (event.key === "ArrowUp") choose(chosen.value - 1);
    else if (event.key === "Enter") run(found.value[chosen.value]);
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
        {found.value.map((command, index) => (
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
            <span class="palette-group">{command.group}</span>
            <span class="palette-title">{command.title}</span>
            {command.keys === undefined ? null : <Keys keys={command.keys} />}
          </li>
        ))}
      </ul>
      {found.value.length === 0 ? <p class="palette-none">No command has that in its name.</p> : null}
    </Dialog>
  );
}

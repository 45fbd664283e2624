import { signal } from "@preact/signals";
import { Dialog } from "../ui/dialog.tsx";
import { Keys } from "../ui/keys.tsx";
import { type Command, commands } from "./commands.ts";

export const isKeySheetOpen = signal(false);

/** Every key that does something now. */
export function KeySheet() {
  if (!isKeySheetOpen.value) return null;
  const groups = new Map<string, Command[]>();
  for (const command of commands.value) {
    if (command.keys === undefined) continue;
    const group = groups.get(command.group);
    if (group === undefined) groups.set(command.group, [command]);
    else group.push(command);
  }
  return (
    <Dialog
      title="Keyboard"
      size="large"
      onClose={() => {
        isKeySheetOpen.value = false;
      }}
    >
      <div class="key-sheet">
        {[...groups].map(([group, members]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {members.map(({ id, title, keys }) => (
                <div key={id}>
                  <dt>{title}</dt>
                  <dd>
                    <Keys keys={keys!} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="key-sheet-note">
        In a terminal all keys belong to the program, except F1 and those with Ctrl and Shift or Alt and
        Shift.
      </p>
    </Dialog>
  );
}

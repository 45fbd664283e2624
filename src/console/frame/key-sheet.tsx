import { signal } from "@preact/signals";
import { Fragment } from "preact";
import { Dialog } from "../ui/dialog.tsx";
import { Keys } from "../ui/keys.tsx";
import { type Command, commands } from "./commands.ts";

const isKeySheetOpen = signal(false);

export function openKeySheet(): void {
  isKeySheetOpen.value = true;
}

/** Commands with several keys are listed once. */
function byTitle(commands: readonly Command[]): readonly (readonly [string, readonly string[]])[] {
  const titles = new Map<string, string[]>();
  for (const { title, keys } of commands) titles.set(title, [...(titles.get(title) ?? []), keys!]);
  return [...titles];
}

/** Every key that does something now. */
export function KeySheet() {
  if (!isKeySheetOpen.value) return null;
  const withKeys = commands.value.filter(({ keys }) => keys !== undefined);
  const groups = new Set(withKeys.map(({ group }) => group));
  return (
    <Dialog
      title="Keyboard"
      size="large"
      onClose={() => {
        isKeySheetOpen.value = false;
      }}
    >
      <div class="key-sheet">
        {[...groups].map((heading) => (
          <section key={heading}>
            <h3>{heading}</h3>
            <dl>
              {byTitle(withKeys.filter(({ group }) => group === heading)).map(([title, keys]) => (
                <div key={title}>
                  <dt>{title}</dt>
                  <dd>
                    {keys.map((each, index) => (
                      <Fragment key={each}>
                        {index === 0 ? null : <span class="key-sheet-or">or</span>}
                        <Keys keys={each} />
                      </Fragment>
                    ))}
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

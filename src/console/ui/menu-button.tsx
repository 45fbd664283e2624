import { useSignal } from "@preact/signals";
import { IconButton } from "./button.tsx";
import type { IconName } from "./icon.tsx";
import { Menu, type MenuItem } from "./menu.tsx";

export interface MenuButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** A button that opens a menu of the same name below itself. */
export function MenuButton({ icon, label, items }: MenuButtonProps) {
  const at = useSignal<Element | undefined>(undefined);
  return (
    <>
      <IconButton
        icon={icon}
        label={label}
        onClick={(event) => {
          at.value = event.currentTarget as Element;
        }}
      />
      {at.value === undefined ? null : (
        <Menu
          label={label}
          at={at.value}
          items={items}
          onClose={() => {
            at.value = undefined;
          }}
        />
      )}
    </>
  );
}

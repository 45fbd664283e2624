import type { ComponentProps } from "preact";
import { Button } from "../../ui/button.tsx";

export type CodeInputProps = ComponentProps<"input"> & { readonly onText: (text: string) => void };

/** A line that the browser neither corrects nor completes. */
export function CodeInput({ onText, ...attributes }: CodeInputProps) {
  return (
    <input
      class="code"
      spellcheck={false}
      autocomplete="off"
      {...attributes}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

export function AddButton({
  onClick,
  children,
}: {
  readonly onClick: () => void;
  readonly children: string;
}) {
  return (
    <div class="insp-add">
      <Button kind="quiet" icon="plus" onClick={onClick}>
        {children}
      </Button>
    </div>
  );
}

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { navigate } from "../shell/router.ts";
import { IconButton } from "../ui/button.tsx";
import { visibleText } from "../ui/visible-text.ts";
import { addressOf, resolvePath, stepsTo } from "./paths.ts";

export interface BreadcrumbProps {
  readonly path: string;
  readonly home: string;
  /** Where typed paths start. */
  readonly directory: string;
  readonly isTyping: boolean;
  readonly onTyping: (isTyping: boolean) => void;
}

/** Where one is. A click beside the names, or the command, turns it into a field. */
export function Breadcrumb({ path, home, directory, isTyping, onTyping }: BreadcrumbProps) {
  const trail = useRef<HTMLOListElement>(null);
  useEffect(() => {
    // On a narrow page the end is what matters.
    trail.current?.scrollTo({ left: trail.current.scrollWidth });
  }, [path, isTyping]);
  if (isTyping)
    return <PathField path={path} home={home} directory={directory} onClose={() => onTyping(false)} />;
  const steps = stepsTo(path);
  return (
    <nav class="files-crumbs" aria-label="Path">
      <ol ref={trail}>
        {steps.map((step, index) => (
          <li key={step.path}>
            <a
              href={addressOf(step.path)}
              aria-current={index === steps.length - 1 ? "page" : undefined}
              title={visibleText(step.path)}
            >
              {visibleText(step.name)}
            </a>
          </li>
        ))}
      </ol>
      <IconButton icon="edit" label="Type a path" keys="Ctrl L" onClick={() => onTyping(true)} />
    </nav>
  );
}

function PathField({
  path,
  home,
  directory,
  onClose,
}: {
  readonly path: string;
  readonly home: string;
  readonly directory: string;
  readonly onClose: () => void;
}) {
  const text = useSignal(path);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  return (
    <form
      class="files-path-form"
      onSubmit={(event) => {
        event.preventDefault();
        onClose();
        navigate(addressOf(resolvePath(directory, text.value, home)));
      }}
    >
      <input
        ref={field}
        class="code"
        aria-label="Path"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => event.key === "Escape" && onClose()}
        onBlur={onClose}
      />
    </form>
  );
}

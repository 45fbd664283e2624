import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { navigate } from "../frame/router.ts";
import { IconButton } from "../ui/button.tsx";
import { MenuButton } from "../ui/menu-button.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { addressOf, resolvePath, stepsTo } from "../frame/paths.ts";
import { isWithinReach, roots } from "./reach.ts";

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
    const shown = trail.current;
    if (shown === null) return;
    // On a narrow page the end is what matters.
    const toEnd = (): void => shown.scrollTo({ left: shown.scrollWidth });
    toEnd();
    const observer = new ResizeObserver(toEnd);
    observer.observe(shown);
    return () => observer.disconnect();
  }, [path, isTyping]);
  if (isTyping)
    return <PathField path={path} home={home} directory={directory} onClose={() => onTyping(false)} />;
  const steps = stepsTo(path);
  return (
    <nav class="files-crumbs" aria-label="Path">
      <ol ref={trail}>
        {steps.map((step, index) => (
          <li key={step.path}>
            {isWithinReach(step.path) ? (
              <a
                href={addressOf(step.path)}
                aria-current={index === steps.length - 1 ? "page" : undefined}
                title={visibleText(step.path)}
              >
                {visibleText(step.name)}
              </a>
            ) : (
              <span title="Not within your reach">{visibleText(step.name)}</span>
            )}
          </li>
        ))}
      </ol>
      <RootsButton current={path} />
      <IconButton icon="edit" label="Type a path" keys="p" onClick={() => onTyping(true)} />
    </nav>
  );
}

/** The directories within reach, if there are several. */
function RootsButton({ current }: { readonly current: string }) {
  const listed = roots.value ?? [];
  if (listed.length < 2) return null;
  const items = listed.map((root) => ({
    id: root,
    title: visibleText(root),
    icon: current === root || current.startsWith(`${root}/`) ? ("check" as const) : ("folder" as const),
    run: () => navigate(addressOf(root)),
  }));
  return <MenuButton icon="folder" label="Directories within your reach" items={items} />;
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
  // Before the next key, which is meant for it.
  useLayoutEffect(() => field.current?.select(), []);
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

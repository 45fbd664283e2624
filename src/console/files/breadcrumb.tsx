import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { navigate } from "../frame/router.ts";
import { IconButton } from "../ui/button.tsx";
import { writeTo } from "../ui/field.tsx";
import { MenuButton } from "../ui/menu-button.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { addressOf, resolvePath, stepsTo } from "../frame/paths.ts";
import { homeDirectory, isWithinReach, roots } from "./reach.ts";

export interface BreadcrumbProps {
  readonly path: string;
  /** Base of typed paths. */
  readonly directory: string;
  readonly isTyping: Signal<boolean>;
}

/** The current path. The button or the command turns it into a field. */
export function Breadcrumb({ path, directory, isTyping }: BreadcrumbProps) {
  const setTyping = (typing: boolean): void => {
    isTyping.value = typing;
  };
  const trail = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const shown = trail.current;
    if (shown === null) return;
    // On a narrow page the end matters.
    const toEnd = (): void => shown.scrollTo({ left: shown.scrollWidth });
    toEnd();
    const observer = new ResizeObserver(toEnd);
    observer.observe(shown);
    return () => observer.disconnect();
  }, [path, isTyping.value]);
  if (isTyping.value) return <PathField path={path} directory={directory} onClose={() => setTyping(false)} />;
  const steps = stepsTo(path);
  return (
    <nav class="files-crumbs" aria-label="Path">
      <ol ref={trail}>
        {steps.map((step, index) => (
          <li key={step.path}>
            {isWithinReach(step.path) ? (
              <a
                class="one-line"
                href={addressOf(step.path)}
                aria-current={index === steps.length - 1 ? "page" : undefined}
                title={visibleText(step.path)}
              >
                {visibleText(step.name)}
              </a>
            ) : (
              <span title="Outside what you can open">{visibleText(step.name)}</span>
            )}
          </li>
        ))}
      </ol>
      <RootsButton current={path} />
      <IconButton icon="edit" label="Type a path" keys="p" onClick={() => setTyping(true)} />
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
  return <MenuButton icon="folder" label="Directories you can open" items={items} />;
}

interface PathFieldProps extends Pick<BreadcrumbProps, "path" | "directory"> {
  readonly onClose: () => void;
}

function PathField({ path, directory, onClose }: PathFieldProps) {
  const text = useSignal(path);
  const field = useRef<HTMLInputElement>(null);
  // Before the next key, which belongs to it.
  useLayoutEffect(() => field.current?.select(), []);
  return (
    <form
      class="files-path-form"
      onSubmit={(event) => {
        event.preventDefault();
        onClose();
        navigate(addressOf(resolvePath(directory, text.value, homeDirectory.value)));
      }}
    >
      <input
        ref={field}
        class="code"
        aria-label="Path"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={writeTo(text)}
        onKeyDown={(event) => event.key === "Escape" && onClose()}
        onBlur={onClose}
      />
    </form>
  );
}

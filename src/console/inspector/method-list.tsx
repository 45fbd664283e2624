import { type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isAllowed } from "../connection/server-link.ts";
import { navigate, pathTo } from "../frame/router.ts";
import { hasWords } from "../ui/arrange-rows.ts";
import { writeTo } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { groupByPrefix, type WireMethod } from "./wire-table.ts";

export interface MethodListProps {
  readonly methods: readonly WireMethod[];
  readonly current: string | undefined;
  readonly query: Signal<string>;
  readonly field: RefObject<HTMLInputElement | null>;
}

/** Every method, by the first part of its name. */
export function MethodList({ methods, current, query, field }: MethodListProps) {
  const matches = methods.filter(({ name, doc }) => hasWords(`${name} ${doc}`, query.value));
  const groups = groupByPrefix(matches);
  // A match in a name is more likely to be meant than one in a description.
  const best = matches.find(({ name }) => hasWords(name, query.value)) ?? matches[0];
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.target !== field.current || event.ctrlKey) return moveFocus(event);
    if (best !== undefined) navigate(pathTo("/i", best.name));
    event.preventDefault();
  };
  return (
    <nav class="insp-methods" aria-label="Methods" onKeyDown={onKeyDown}>
      <div class="insp-search">
        <input
          ref={field}
          type="search"
          aria-label="Find a method"
          placeholder="Find a method"
          spellcheck={false}
          autocomplete="off"
          value={query.value}
          onInput={writeTo(query)}
        />
      </div>
      <div class="insp-groups">
        {[...groups].map(([prefix, members]) => (
          <section key={prefix}>
            <h2>{TITLES[prefix] ?? prefix}</h2>
            <ul>
              {members.map((method) => (
                <li key={method.name}>
                  <MethodLink method={method} isCurrent={method.name === current} />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {matches.length === 0 ? <p class="insp-nothing">No matching method.</p> : null}
      </div>
    </nav>
  );
}

const TITLES: Readonly<Record<string, string>> = {
  initialize: "Session",
  process: "Processes",
  environment: "Environment",
  environmentConfig: "Configuration",
  fs: "Files",
  capabilityRoots: "Discovery",
  capabilities: "Discovery, version 2",
  http: "HTTP",
  tcp: "TCP",
  command: "Processes, dialect v0",
  server: "Server",
  console: "Console",
};

function MethodLink({ method, isCurrent }: { readonly method: WireMethod; readonly isCurrent: boolean }) {
  const isRefused = !isAllowed(method.right);
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <a
      ref={link}
      href={pathTo("/i", method.name)}
      aria-current={isCurrent ? "page" : undefined}
      class={isRefused ? "refused" : undefined}
      title={method.doc.replaceAll("`", "")}
    >
      <span class="code">{method.name}</span>
      {isRefused ? (
        <>
          <Icon name="lock" />
          <span class="hidden-text">not included in your access</span>
        </>
      ) : null}
    </a>
  );
}

/** Arrows go from the field to the methods, and from one to the next. */
function moveFocus(event: KeyboardEvent): void {
  const box = event.currentTarget as HTMLElement;
  const stops = [...box.querySelectorAll<HTMLElement>("input, a")];
  const index = stops.indexOf(document.activeElement as HTMLElement);
  if (event.key === "ArrowDown") stops[index + 1]?.focus();
  else if (event.key === "ArrowUp") stops[index - 1]?.focus();
  else return;
  event.preventDefault();
}

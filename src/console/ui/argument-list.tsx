import { visibleText } from "../../base/visible-text.ts";

/** What will be run, word by word. */
export function ArgumentList({ argv }: { readonly argv: readonly string[] }) {
  return (
    <div class="start-words" role="group" aria-label="What is run">
      {argv.map((word, index) => (
        <code key={index}>{word === "" ? "''" : visibleText(word)}</code>
      ))}
    </div>
  );
}

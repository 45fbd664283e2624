import type { JsonPreview } from "./json-preview.ts";

/** A value as coloured text. */
export function JsonView({ preview, label }: { readonly preview: JsonPreview; readonly label: string }) {
  return (
    <div class="insp-json" role="region" aria-label={label} tabIndex={0}>
      {preview.lines.map(({ depth, tokens }, index) => (
        <div key={index} class="insp-line" style={{ "--depth": depth }}>
          {tokens.map(({ kind, text }, at) =>
            text === "" ? null : (
              <span key={at} class={kind}>
                {text}
              </span>
            ),
          )}
        </div>
      ))}
    </div>
  );
}

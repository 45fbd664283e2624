import { type Encoding, ENCODINGS } from "../encodings.ts";

export interface EncodingChooserProps {
  readonly encoding: Encoding;
  /** There are unsaved changes, which another encoding would turn into other text. */
  readonly isDisabled?: boolean;
  readonly onChoose: (encoding: Encoding) => void;
}

/** Shows the encoding of a text, and takes another one. */
export function EncodingChooser({ encoding, isDisabled = false, onChoose }: EncodingChooserProps) {
  return (
    <select
      class="files-encoding"
      aria-label="Encoding"
      title={isDisabled ? "Save your changes before you choose another encoding" : "Encoding"}
      disabled={isDisabled}
      value={encoding}
      onChange={(event) => onChoose(event.currentTarget.value as Encoding)}
    >
      {Object.entries(ENCODINGS).map(([name, title]) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </select>
  );
}

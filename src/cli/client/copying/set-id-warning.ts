import type { TreeResult } from "../../../client/files/trees.ts";
import { complain } from "../print/complain.ts";

/** Says once which copies cannot do what their originals can. */
export function complainAboutSetId(dropped: readonly NonNullable<TreeResult["withoutSetId"]>[]): void {
  const [first] = dropped;
  if (first === undefined) return;
  const total = dropped.reduce((sum, { count }) => sum + count, 0);
  const others = total === 1 ? "" : ` and ${total - 1} more`;
  complain(
    `set-user-ID and set-group-ID bits are not copied: ${first.first || "."}${others}; set them with chmod where they are needed`,
  );
}

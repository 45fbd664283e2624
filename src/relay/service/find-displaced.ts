import type { Admission } from "./admissions.ts";
import type { Client } from "./client.ts";

/**
 * Of the clients on their way that have sent no handshake, the oldest of the token with most, which keeps at least as many
 * as another token then has: that has `own`. Otherwise, a few tokens could take all slots again and again.
 */
export function findDisplaced(
  pending: readonly (Admission | Client)[],
  own: number,
): Admission | Client | undefined {
  const counts = new Map<string, number>();
  for (const { token } of pending) counts.set(token, (counts.get(token) ?? 0) + 1);
  const countOf = ({ token }: Admission): number => counts.get(token) ?? 0;
  return pending
    .filter((each) => countOf(each) > own + 1 && !("hasSentHandshake" in each && each.hasSentHandshake))
    .sort((left, right) => countOf(right) - countOf(left) || left.admittedAt - right.admittedAt)[0];
}

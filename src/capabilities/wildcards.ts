/**
 * Whether a name fits a pattern in which some parts stand for any number of characters. Goes back only to the last of
 * these, so the time is bounded by the product of the lengths, and no pattern takes exponential time.
 */
export function fitsWildcards<T>(
  pattern: ArrayLike<T>,
  name: ArrayLike<string>,
  { isAny, fitsOne }: { isAny: (part: T) => boolean; fitsOne: (part: T, character: string) => boolean },
): boolean {
  const isAnyAt = (index: number): boolean => index < pattern.length && isAny(pattern[index]!);
  let part = 0;
  let lastAny = -1;
  let retryAt = 0;
  for (let at = 0; at < name.length; ) {
    if (isAnyAt(part)) {
      lastAny = part;
      retryAt = at;
      part += 1;
    } else if (part < pattern.length && fitsOne(pattern[part]!, name[at]!)) {
      part += 1;
      at += 1;
    } else if (lastAny === -1) return false;
    else {
      part = lastAny + 1;
      retryAt += 1;
      at = retryAt;
    }
  }
  while (isAnyAt(part)) part += 1;
  return part === pattern.length;
}

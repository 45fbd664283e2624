/** The result of `work`, or `otherwise` if it throws. */
export function resultOr<T, F>(otherwise: F, work: () => T): T | F {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

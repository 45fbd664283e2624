/** The offset that a typed position means, such as `1048576` or `50%`; undefined if it is not one. */
export function offsetOf(typed: string, size: number): number | undefined {
  const [, digits, percent] = /^(\d{1,15}(?:\.\d{1,6})?)\s*(%?)$/.exec(typed.trim()) ?? [];
  const number = Number(digits);
  if (digits === undefined || (percent === "%" && number > 100)) return undefined;
  return Math.min(size, Math.floor(percent === "%" ? (size * number) / 100 : number));
}

/** The members that are not undefined: where a member is optional, undefined does not stand for its absence. */
export function defined<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}

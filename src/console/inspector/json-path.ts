/** A value of JSON. */
export type Json = unknown;
export type JsonObject = Readonly<Record<string, Json>>;
/** Where a value is within another. */
export type JsonPath = readonly (string | number)[];

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A place as text, to tell places apart and to name them. */
export function pathText(path: JsonPath): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : key)).join(".");
}

/** The same value with something else at one place. Nothing that is there already is changed. */
export function setAt(whole: Json, path: JsonPath, value: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list: Json[] = Array.isArray(whole) ? [...whole] : [];
    list[key] = setAt(list[key], rest, value);
    return list;
  }
  const object = isObject(whole) ? whole : {};
  const entries = new Map(Object.entries(object));
  entries.set(key, setAt(entries.get(key), rest, value));
  // Not a spread: `__proto__` is a name like any other here.
  return Object.fromEntries(entries);
}

/** The same value without what is at one place. */
export function removeAt(whole: Json, path: JsonPath): Json {
  const last = path.at(-1);
  if (last === undefined) return whole;
  const parentPath = path.slice(0, -1);
  const parent = getAt(whole, parentPath);
  if (Array.isArray(parent))
    return setAt(
      whole,
      parentPath,
      parent.filter((_item, index) => index !== last),
    );
  if (!isObject(parent)) return whole;
  const left = Object.entries(parent).filter(([name]) => name !== last);
  return setAt(whole, parentPath, Object.fromEntries(left));
}

export function getAt(whole: Json, path: JsonPath): Json {
  let value = whole;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, Json>)[key];
  }
  return value;
}

/** A value of JSON. */
export type Json = unknown;
export type JsonObject = Readonly<Record<string, Json>>;
/** The path of a value within another. */
export type JsonPath = readonly (string | number)[];

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a text; undefined if it is not JSON. */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A path as text: its name, and a key for maps. */
export function pathText(path: JsonPath): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : key)).join(".");
}

/** A copy of the value with one path replaced. */
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
  // A spread would not do: `__proto__` is a name like any other here.
  return Object.fromEntries(entries);
}

/** A copy of the value with one path removed. */
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

/** Shape of a wire value, for rendering forms. */
export type Shape = {
  readonly doc?: string;
  readonly nullable?: true;
} & (
  | { readonly kind: "none" }
  | { readonly kind: "any" }
  | { readonly kind: "switch" }
  | { readonly kind: "text"; readonly format?: "base64" | "path" }
  | { readonly kind: "number"; readonly whole?: true; readonly least?: number; readonly most?: number }
  | { readonly kind: "choice"; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: "list"; readonly item: Shape }
  | { readonly kind: "map"; readonly value: Shape }
  | { readonly kind: "union"; readonly options: readonly Shape[] }
  | { readonly kind: "object"; readonly members: readonly Member[] }
);

export type ShapeOf<K extends Shape["kind"]> = Extract<Shape, { readonly kind: K }>;

interface Member {
  readonly name: string;
  readonly required?: true;
  readonly shape: Shape;
}

/** One request of the protocol. */
export interface WireMethod {
  readonly name: string;
  readonly doc: string;
  readonly right: string;
  /** Presets of rights that include it. */
  readonly presets: readonly string[];
  /** A further right, if the parameter has this value. */
  readonly alsoNeeds?: { readonly param: string; readonly is: string; readonly right: string };
  /** Whether it is an addition to Codex's protocol. */
  readonly extension?: true;
  readonly params: Shape;
}

let loading: Promise<readonly WireMethod[]> | undefined;

/** Every request that a client may send. It is a separate part of the page, loaded once. */
export function loadWireTable(): Promise<readonly WireMethod[]> {
  loading ??= import("./wire-table.json").then((part) => part.default);
  loading.catch(() => {
    loading = undefined;
  });
  return loading;
}

/** Methods by the first part of their names, such as `fs` of `fs/readFile`, in their order. */
export function groupByPrefix(methods: readonly WireMethod[]): ReadonlyMap<string, readonly WireMethod[]> {
  const groups = new Map<string, WireMethod[]>();
  for (const method of methods) {
    const prefix = method.name.split("/", 1)[0]!;
    groups.set(prefix, [...(groups.get(prefix) ?? []), method]);
  }
  return groups;
}

/** The token of an `Authorization: Bearer` header; undefined if there is none. */
export function bearerToken(authorization: string): string | undefined {
  const [, scheme, rest = ""] = /^([\x21-\x7e]+) ([\t\x20-\x7e]*)$/.exec(authorization) ?? [];
  const token = rest.trim();
  return scheme?.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

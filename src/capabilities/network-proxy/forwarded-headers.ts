/** Headers that concern one connection, and not the message (RFC 9110, section 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The headers of a message that are passed on: names and values in turn, as they came. */
export function endToEndHeaders(raw: readonly string[], without: readonly string[] = []): string[] {
  const dropped = new Set([...HOP_BY_HOP, ...without, ...namedByConnection(raw)]);
  return pairs(raw).flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
}

/** All values of a header, in lower case. */
export function headerValues(raw: readonly string[], wanted: string): string[] {
  return pairs(raw).flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value.toLowerCase()] : []));
}

function namedByConnection(raw: readonly string[]): string[] {
  return (
    headerValues(raw, "connection")
      .flatMap((value) => value.split(","))
      .map((name) => name.trim())
      // The length of the body is a matter of the message, whatever a sender claims.
      .filter((name) => name !== "content-length")
  );
}

function pairs(raw: readonly string[]): [string, string][] {
  const headers: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) headers.push([raw[index]!, raw[index + 1]!]);
  return headers;
}

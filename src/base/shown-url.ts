/** A URL for messages and logs, without user, password and query, which may be secrets. */
export function shownUrl(url: string): string {
  const schemeEnd = url.indexOf("//");
  const queryStart = url.search(/[?#]/);
  const withoutQuery = queryStart < 0 ? url : url.slice(0, queryStart);
  if (schemeEnd < 0) return withoutQuery;
  const authorityStart = schemeEnd + 2;
  const pathStart = withoutQuery.indexOf("/", authorityStart);
  const authority = withoutQuery.slice(authorityStart, pathStart < 0 ? undefined : pathStart);
  return (
    withoutQuery.slice(0, authorityStart) +
    authority.slice(authority.lastIndexOf("@") + 1) +
    (pathStart < 0 ? "" : withoutQuery.slice(pathStart))
  );
}
